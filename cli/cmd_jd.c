/* tlnmf jd: joint diagonalisation alone. cmd_fit.c runs it. */
#include "cli/common/arrays.h"

static const cli_option options[] = {
    {"rank-reduce", "INT|auto",
     "with --whiten: keep this many principal components of the mean covariance, for data of lower "
     "rank; auto: its rank",
     &cli_asked.rank_reduce, GROUP_MODEL, CLI_RECORDED},
    {"init-phi", "FILE", "start from this Phi (M, M)", &cli_asked.init_phi, GROUP_MODEL,
     CLI_RECORDED | CLI_FILE_IN},
    {"o", "FILE", "file of the transform; .h5, .mat or .npz; - is standard output [phi.h5]",
     &cli_asked.output, GROUP_OUTPUT, 0},
    {0},
};

const cli_command cli_jd = {
    .name = "jd",
    .usage = "jd COVARIANCES [options]",
    .purpose = "joint diagonalisation: the orthogonal Phi that minimises L",
    .task = "jd",
    .shared = " input axes missing weights header index columns drop force json explain strict "
              "checkpoint "
              "every iterate-after resume split q v ",
    .first = " input axes missing weights eps whiten starts seed o force json max-seconds device "
             "resume ",
    .examples = "  tlnmf jd covs.npy --eps 1e-8 -o phi.h5\n"
                "  tlnmf jd epochs.npy --axes trials,channels,time\n"
                "  tlnmf jd covs.npy --whiten -o unmixing.mat\n"
                "  tlnmf jd average_reference.npy --whiten --rank-reduce auto\n",
    .options = options,
    .reads = true,
    .distributes = true,
    .run = cli_fit_run,
};

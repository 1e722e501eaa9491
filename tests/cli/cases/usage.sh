# Mistakes on the command line: exit code 2, the message names the culprit, nothing is written.
small_data y.npy

# Commands and options
expect 2 "" "$(tlnmf --help)" tlnmf
expect 2 "" "tlnmf: unknown command bogus (see tlnmf --help)" tlnmf bogus
for command in fit jd simulate eval info; do
    usage $command "unknown option --bogus (see tlnmf $command --help all)" --bogus
    usage $command "unknown option --bogus (see tlnmf $command --help all)" y.npy --bogus=3
    usage $command "unknown option -x (see tlnmf $command --help all)" y.npy -x
done
for command in fit jd simulate; do
    usage $command "-o needs a value" y.npy -o
done
for command in fit jd info; do
    usage $command "--json takes no value" y.npy --json=yes
done
for option in --json -q -v; do # a command accepts only options that it uses
    usage simulate "unknown option $option (see tlnmf simulate --help all)" gcm -o x.npy $option
done
for option in -o -q; do
    usage info "unknown option $option (see tlnmf info --help all)" y.npy $option x.npy
done
usage jd "unknown option --no-model (see tlnmf jd --help all)" y.npy --no-model
# For a wrong name, the message suggests the nearest name; names of other programs lead to ours.
for pair in --rank:-k --n-components:-k --n_components:-k --max-iter:-J --max_iter:-J --iterations:-J \
    --random-state:--seed --n_init:--starts --strats:--starts --start:--starts --max-sec:--max-seconds \
    --trasform:--transform --output:-o --quiet:-q; do
    usage fit "unknown option ${pair%:*}; did you mean ${pair#*:}?" y.npy ${pair%:*}
done
usage separate "unknown option --rank; did you mean -k?" x.wav --rank=2
usage separate "unknown option --label; did you mean --labels?" x.wav --label x.txt
usage separate "unknown option --max-iter; did you mean --iterations?" x.wav --max-iter=2
usage jd "unknown option --rank; did you mean --rank-reduce?" y.npy --rank 2
for pair in sepaarte:separate ift:fit apply2:apply learn:fit sim:simulate; do
    expect 2 "" "tlnmf: unknown command ${pair%:*}; did you mean ${pair#*:}?" tlnmf ${pair%:*} y.npy
done
# Options of earlier versions say what to use instead.
usage separate "unknown option --learn-columns; did you mean --learn-frames?" \
    x.wav -k 2 --learn-columns 600
usage separate "unknown option --rate; did you mean --learn-below with half of the value?" \
    x.wav -k 2 --rate=4000
for command in separate apply; do
    usage $command "unknown option --keep; did you mean --residual?" x.wav --keep residual
done
usage fit "--init-w needs a value" y.npy -k 2 --init-w
usage fit "--trace takes no value" y.npy -k 2 --trace=1
usage fit "--strict takes no value" y.npy -k 2 --strict=1
usage info "unknown option -k (see tlnmf info --help all)" y.npy -k 2

# Operands
usage fit "missing operand: a data file (see tlnmf fit --help)"
usage fit "unexpected operand z.npy (see tlnmf fit --help)" y.npy z.npy -k 2
usage jd "missing operand: a data file (see tlnmf jd --help)"
usage info "missing operand: a file (see tlnmf info --help)"
usage simulate "the operand must be gcm or notes"
usage simulate "the operand must be gcm or notes" song -o x.npy
usage simulate "the operand must be gcm or notes" gcm notes -o x.npy
usage simulate "missing required option -o FILE" gcm
usage simulate "missing required option -o FILE" notes

# The rank
usage fit "missing required option -k (number of components)" y.npy
usage fit "-k needs a value" y.npy -k
usage fit "k = 0 is outside [1, 10000]" y.npy -k 0
usage fit "k = -3 is outside [1, 10000]" y.npy -k -3
usage fit "k = 10001 is outside [1, 10000]" y.npy -k 10001
usage fit "k = two is not an integer from 1 to 10000, A:B with 1 <= A <= B <= 1000, or auto" y.npy -k two
usage fit "k = 2.5 is not an integer from 1 to 10000, A:B with 1 <= A <= B <= 1000, or auto" y.npy -k 2.5
usage fit "k = nan is not an integer from 1 to 10000, A:B with 1 <= A <= B <= 1000, or auto" y.npy -k nan
usage fit "k = 13 is more than the M N = 3 x 4 entries to fit" y.npy -k 13

# The floor
usage fit "eps = 0 is outside [1e-300, 1e+300]" y.npy -k 2 --eps 0
usage fit "eps = -1 is outside [1e-300, 1e+300]" y.npy -k 2 --eps -1
usage fit "eps = nan is outside [1e-300, 1e+300]" y.npy -k 2 --eps nan
usage fit "eps = inf is outside [1e-300, 1e+300]" y.npy -k 2 --eps inf
usage fit "eps = small is not a number" y.npy -k 2 --eps small
usage fit "eps = 1e-8x is not a number" y.npy -k 2 --eps 1e-8x
usage fit "eps-rel = 0 is outside [1e-30, 1000000]" y.npy -k 2 --eps-rel 0
usage jd "eps = -1 is outside [1e-300, 1e+300]" y.npy --eps=-1

# Seeds
usage fit "seed = 4294967296: numpy's stream takes seeds up to 4294967295" \
    y.npy -k 2 --stream numpy --seed 4294967296
usage jd "seed = 4294967296: numpy's stream takes seeds up to 4294967295" \
    y.npy --stream numpy --seed 4294967296
usage simulate "seed = 4294967296: numpy's stream takes seeds up to 4294967295" \
    notes --stream numpy --seed 4294967296 -o x.npy
for seed in --seed-truth --seed-data; do
    usage simulate "seed = 4294967296: numpy's stream takes seeds up to 4294967295" \
        gcm --stream numpy $seed 4294967296 -o x.npy
done
usage fit "seed = -1 is not a whole number below 2^64" y.npy -k 2 --seed -1
usage fit "seed = 18446744073709551616 is not a whole number below 2^64" \
    y.npy -k 2 --seed 18446744073709551616

# Other values
usage fit "method = pca is not one of tl|jd|nmf|auto" y.npy -k 2 --method pca
usage fit "solver = newton is not one of fast|paper" y.npy -k 2 --solver newton
usage fit "transform = dtc is not one of auto|random|dct|dft|identity" y.npy -k 2 --transform dtc
usage jd "transform = dtc is not one of auto|random|dct|dft|identity" y.npy --transform dtc
usage fit "stream = matlab is not one of own|numpy" y.npy -k 2 --stream matlab
usage fit "J = 0 is outside [1, 1000000000]" y.npy -k 2 -J 0
usage fit "starts = -1 is outside [0, 1000000]" y.npy -k 2 --starts -1
usage fit "starts = few is not a number or auto" y.npy -k 2 --starts few
usage fit "exchange needs a number of starts, not auto" y.npy -k 2 --starts auto --exchange
usage fit "gamma = 2 is outside [0.5, 1]" y.npy -k 2 --gamma 2
usage fit "input = sound is not one of data|covariances|power|auto" y.npy -k 2 --input sound
usage jd "input = sound is not one of data|covariances|power|auto" y.npy --input sound
usage fit "rate = 0 is not a number in [1e-12, 1e+12]" y.npy -k 2 --rate 0
usage fit "block = 0 is outside [1, 1000000000]" y.npy -k 2 --block 0
usage fit "moving = few is not a whole number" y.npy -k 2 --moving few
usage fit "y.npy: block = 5 is outside [1, 4], the number of frames" y.npy -k 2 --block 5
usage fit "--block and --moving are mutually exclusive" y.npy -k 2 --block 2 --moving 2
usage fit "--atoms requires --rate" y.npy -k 2 --atoms 2
usage fit "atoms = 4 is outside [1, 3]" y.npy -k 2 --rate 8000 --atoms 4
usage simulate "s = 0 is outside [1, 1000000000]" gcm --s 0 -o x.npy
usage simulate "s = many is not a number" gcm --s many -o x.npy
usage simulate "m = -1 is outside [1, 1000000000]" gcm --m -1 -o x.npy
usage simulate "theta = 1 is not a list of 2 numbers separated by commas" notes --theta 1 -o x.npy
usage simulate "theta = 1,2,3 is not a list of 2 numbers separated by commas" notes --theta 1,2,3 -o x.npy
usage simulate "theta = 1,b is not a list of 2 numbers separated by commas" notes --theta 1,b -o x.npy

# Options that cannot be combined
usage fit "--init-phi and --transform FILE are mutually exclusive" \
    y.npy -k 2 --init-phi a.npy --transform b.npy
usage jd "--init-phi and --transform FILE are mutually exclusive" \
    y.npy --init-phi a.npy --transform b.npy
usage fit "--json and the model cannot both go to standard output" y.npy -k 2 --json -o -
usage jd "--json and the model cannot both go to standard output" y.npy --json -o -
for name in x.npy x.csv x.model ./x.h5.old; do
    usage fit "$name: the name of a model must end in .h5, .mat or .npz" y.npy -k 2 -o $name
    usage jd "$name: the name of a model must end in .h5, .mat or .npz" y.npy -o $name
done
usage simulate "--signal is for notes only" gcm --signal x.wav
usage simulate "--theta is for notes only" gcm --theta 1,2 -o x.npy
usage simulate "--seed is for notes only" gcm --seed 3 -o x.npy
usage simulate "--truth-w is for gcm only" notes --truth-w x.npy -o x.npy
usage simulate "--truth-h is for gcm only" notes --truth-h x.npy -o x.npy
usage simulate "-m is for gcm only" notes --m 3 -o x.npy
usage simulate "--seed-data is for gcm only" notes --seed-data 3 -o x.npy
usage simulate "-o and --truth-w both go to standard output" gcm -o - --truth-w -
usage simulate "-o and --signal both go to standard output" notes -o - --signal -
usage simulate "-o and --truth-h are the same file: y2.npy" gcm -o y2.npy --truth-h y2.npy
usage fit "certify requires method tl or auto" y.npy -k 2 --method nmf --certify
usage fit "exchange runs tl and jd: it cannot be used with method nmf" \
    y.npy -k 2 --method nmf --exchange
npy Phi.npy "(3, 3)" 1 0 0 0 1 0 0 0 1
npy W.npy "(3, 1)" 1 2 1
npy H.npy "(1, 4)" 1 2 3 4
usage fit "starts = 5, but the given start leaves nothing to draw at random" \
    y.npy -k 1 --init-phi Phi.npy --init-w W.npy --init-h H.npy --starts 5

absent model.h5 phi.h5 x.npy x.mat x.wav

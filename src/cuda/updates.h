/* Updates on the GPU, as operations of the seam. */
#ifndef TLNMF_CUDA_UPDATES_H
#define TLNMF_CUDA_UPDATES_H

#include "engine/updates.h"

extern const tl_updater_ops tl_cuda_updates;

#endif

/* Clusters of blocks: the emulated device has none. */
#ifndef TLNMF_TESTS_COOPERATIVE_GROUPS_H
#define TLNMF_TESTS_COOPERATIVE_GROUPS_H

namespace cooperative_groups
{
}

#endif

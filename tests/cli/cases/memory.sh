# What the machine does not have is refused before anything is computed.
small_data y.npy
expect 1 "" ... tlnmf fit y.npy -k 2 --starts 1000000 --exchange -J 1000000000 --trace --no-model
check "how much, how much there is, what helps" grep -Eq \
    "^tlnmf fit: this would take about [0-9.]+ [MGT]B of memory, and [0-9.]+ [kMGT]B are free: fewer --starts take less$" "$err"
expect 1 "" ... tlnmf jd y.npy -J 1000000000 --j-tl 1000000 --solver paper --trace
check "one start has nothing to save" grep -Eq "^tlnmf jd: this would .* are free$" "$err"
check "nothing was written" [ ! -e phi.h5 ]

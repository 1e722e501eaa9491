# What the machine does not have is refused before anything is computed.
tlnmf simulate gcm --m 300 --n 4 --kbar 2 -o wide.npy
small_data y.npy
expect 1 "" ... tlnmf fit wide.npy -k 2 --starts 1000000 --exchange --no-model
check "how much, how much there is, what helps" grep -Eq \
    "^tlnmf fit: this run needs about [0-9.]+ [MGT]B of memory, but only [0-9.]+ [kMGT]B are free: fewer --starts take less$" "$err"
# The rows of a trace are taken up as they come.
expect 0 ... "" tlnmf fit y.npy -k 2 --trace -J 1000000 --no-model --json

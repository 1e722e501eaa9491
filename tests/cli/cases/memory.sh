# A run that needs more memory than is available is refused before it starts.
tlnmf simulate gcm --m 300 --n 4 --kbar 2 -o wide.npy
small_data y.npy
expect 1 "" ... tlnmf fit wide.npy -k 2 --starts 1000000 --exchange --no-model
check "the message has the required and the available memory, and a remedy" grep -Eq \
    "^tlnmf fit: this run needs about [0-9.]+ [MGT]B of memory, but only [0-9.]+ [kMGT]B are free: fewer --starts take less$" "$err"
# The rows of a trace are allocated as they arrive.
expect 0 ... "" tlnmf fit y.npy -k 2 --trace -J 1000000 --no-model --json

# The helpers themselves: what encode, npy, mat and json make is what the other cases rely on.
npy a.npy "(2, 3)" 1 -2.5 0 0.1 1e300 -1.5e-300
check "header and data are 176 bytes" [ "$(stat -c %s a.npy)" -eq 176 ]
check "values come back" [ "$(doubles a.npy 0 6 | tr '\n' ' ')" = "1 -2.5 0 0.1 1e+300 -1.5e-300 " ]
npy b.npy "(3,)" nan inf -inf
check "special values come back" [ "$(doubles b.npy 0 3 | tr '\n' ' ')" = "nan inf -inf " ]
near "a number" 1.0000001 1 1e-6
mat m.mat Y 2 3 1 2 3 4 5 6
expect 0 "m.mat: mat, 240 bytes
  Y                  float64  (2, 3)" "" tlnmf info m.mat
expect 0 "a.npy: npy, 176 bytes
                     float64  (2, 3)" "" tlnmf info a.npy

# Files that are not what they claim to be: exit code 3 and a clear message.
small_data y.npy
mkdir directory directory.npy
: >empty.npy
: >empty
echo "1 2 3" >text.npy
echo "hello" >text
echo "hello" >text.h5
echo "hello" >text.mat
head -c 7 y.npy >start.npy
head -c 60 y.npy >header.npy
head -c 200 y.npy >cut.npy
npy_header claims.npy "(1073741824, 1073741824)" # 2^60
npy_header overflows.npy "(1073741824, 1073741824, 1073741824)"
npy_header negative.npy "(-1, 3)"
npy_header shapeless.npy "3"
npy_header objects.npy "(1, 1)" "|O"
npy_header complex.npy "(1, 1)" "<c16" && printf '%16s' >>complex.npy
tlnmf simulate gcm -o y.h5
head -c 1000 y.h5 >cut.h5
mat y.mat Y 2 3 1 2 3 4 5 6

for command in "fit -k 1" jd info; do
    set -- $command
    name=$1
    shift
    input $name "missing.npy: No such file or directory" missing.npy "$@"
    input $name "directory: Is a directory" directory "$@"
    input $name "directory.npy: Is a directory" directory.npy "$@"
    input $name "empty.npy: empty file" empty.npy "$@"
    input $name "empty: empty file" empty "$@"
    input $name "standard input: empty file" - "$@" </dev/null
    input $name "text.npy: not an .npy file" text.npy "$@"
    input $name "text: unknown format; .npy, .npz, HDF5, MATLAB and text tables are read" text "$@"
    input $name "text.h5: not an HDF5 file" text.h5 "$@"
    input $name "text.mat: not a MATLAB file" text.mat "$@"
    input $name "start.npy: truncated .npy header" start.npy "$@"
    input $name "header.npy: truncated .npy header (118 bytes announced, 50 present)" header.npy "$@"
    input $name "cut.npy: the header claims 12 elements (8 bytes each), the file holds 72 bytes" \
        cut.npy "$@"
    input $name "claims.npy: the header claims 1152921504606846976 elements (8 bytes each), the file holds 0 bytes" \
        claims.npy "$@"
    input $name "overflows.npy: the header claims more than 9223372036854775807 elements (8 bytes each), the file holds 0 bytes" \
        overflows.npy "$@"
    input $name "negative.npy: bad .npy header: a negative dimension" negative.npy "$@"
    input $name "shapeless.npy: bad .npy header: 'shape' is not a tuple of integers" shapeless.npy "$@"
    input $name "objects.npy: dtype '|O' is Python objects (supported: f2-f8, i1-i8, u1-u8, b1)" \
        objects.npy "$@"
    input $name "cut.h5: a damaged or unfinished HDF5 file" cut.h5 "$@"
done

# Complex arrays are listed, but not read.
complex="is complex: save the real and the imaginary part as two realisations, or save its power, the squared magnitude, and use --input power"
input fit "complex.npy: the array $complex" complex.npy -k 1
input jd "complex.npy: the array $complex" complex.npy
expect 0 "complex.npy: npy, 144 bytes
                     complex  (1, 1)" "" tlnmf info complex.npy
echo " (1.000e+00+2.000e+00j), (0.000e+00-1.500e+00j)" >complex.csv # as numpy.savetxt writes
echo " (3.000e+00+2.000e+00j), (0.000e+00-1.500e+00j)" >>complex.csv
input fit "complex.csv: the table $complex" complex.csv -k 1

input fit "y.h5: no dataset /nope (it has /Y)" y.h5:/nope -k 1
input jd "y.h5: no dataset /nope (it has /Y)" y.h5:/nope
input fit "y.mat: no variable nope (it has Y)" y.mat:nope -k 1
input fit "missing.h5: No such file or directory" missing.h5:/Y -k 1

tlnmf fit y.npy -k 1 -J 1 >/dev/null
input fit "model.h5: contains several arrays; name one, as in model.h5:/H (it has /H, /Phi, /W, /arrays/energy, /summary)" \
    model.h5 -k 1 --no-model

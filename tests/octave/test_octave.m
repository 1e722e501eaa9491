% The MEX functions, compared with the program's results (model.h5, from run.sh) and plain arithmetic.
1; % a script
function fails (words, varargin)
  try
    tlnmf_fit (varargin{:});
  catch e
    assert (! isempty (strfind (e.message, words)), e.message);
    return
  end
  error ("no error that says %s", words);
end
f = fopen ("Y.npy");
head = fread (f, 10, "uint8");
fread (f, head(9) + 256 * head(10), "uint8");
Y = permute (reshape (fread (f, Inf, "double"), [20 6 3]), [3 2 1]); % S x M x N
fclose (f);

[Phi, W, H, info] = tlnmf_fit (Y, 2, "seed", 5);
theirs = load ("model.h5", "Phi", "W", "H");
assert (isequal (Phi, theirs.Phi') && isequal (W, theirs.W') && isequal (H, theirs.H'));
assert (norm (Phi * Phi' - eye (6)) < 1e-12);
V = zeros (6, 20);
for s = 1:3
  V += (Phi * squeeze (Y(s,:,:))) .^ 2 / 3;
end
R = W * H + info.eps;
C = sum (sum ((V + info.eps) ./ R + log (R)));
assert (abs (C - info.C) < 1e-9 * abs (C));

% The same array in the program, and in another order.
save ("-v7", "Y.mat", "Y");
assert (system (["\"" getenv("PROGRAM") "\" fit Y.mat -k 2 --seed 5 --starts 1 -o again.h5 >out 2>err"]), 0);
again = load ("again.h5", "Phi");
assert (isequal (again.Phi, theirs.Phi));
turned = permute (Y, [2 3 1]);
assert (isequal (tlnmf_fit (turned, 2, "seed", 5, "axes", "channels,times,trials"), Phi));
assert (isequal (tlnmf_fit (squeeze (Y(1,:,:))', 2, "axes", "time,channels"), ...
                 tlnmf_fit (squeeze (Y(1,:,:)), 2)));
lastwarn ("");
tlnmf_fit (permute (Y, [1 3 2]), 2, "J", 1); % 3 x 20 x 6
assert (! isempty (strfind (lastwarn (), "frames of length 20, but only 6 frames: check the order")));

applied = tlnmf_apply (info, Y);
assert (size (applied), [2 20]);
[~, ~, ~, again] = tlnmf_fit (Y, 2, "start", info, "method", "tl", "J", 1);
assert (again.C <= info.C + 1e-9);

V = (1:4)' * (2 + sin (1:9)); % rank 1
[Phi, W, H, info] = tlnmf_fit (V, 1, "input", "power", "dof", 3);
assert (isequal (Phi, eye (4)));
assert (W * H, V, 1e-3);
assert (info.realisations, 3);
assert (abs (info.eps - 1e-6 * mean (V(:))) < 1e-12);
[applied, more] = tlnmf_apply (info, V(:,1:3), "input", "power");
assert (W * applied, V(:,1:3), 1e-2);
assert (isequal (tlnmf_apply (info, V(:,1:3)), applied)); % the model says that these are powers
[~, ~, ~, next] = tlnmf_fit (V, 1, "start", info);
assert (next.I, 0, 1e-3);
assert ([next.realisations, next.given_dof], [3, 3]);
[~, ~, ~, next] = tlnmf_fit (V, 1, "start", info, "dof", 5);
assert (next.realisations, 5);
fails ("fitted to powers", V, 1, "start", info, "input", "realisations");
tlnmf_fit (V, 1, "start", struct ("W", info.W, "H", info.H), "method", "nmf", "J", 2);

holed = V; % missing powers: only these entries are ignored
holed([2 7]) = NaN;
[~, W, H] = tlnmf_fit (holed, 1, "input", "power", "missing", true);
assert (W * H, V, 1e-3);
fails ("finite", holed, 1, "input", "power");
fails ("require data, not covariances", holed, 1, "input", "covariances", "missing", true);
gone = Y; % missing frames: the same as the likelihood of the frames present
gone(1,:,3) = NaN;
some = gone;
some(1,2:end,3) = 7;
[~, ~, ~, a] = tlnmf_fit (gone, 2, "missing", true);
[~, ~, ~, b] = tlnmf_fit (some, 2, "missing", true);
assert (a.C, b.C);

[Q, ~] = qr (reshape (sin (1:16), 4, 4));
C = zeros (4, 4, 6);
for n = 1:6
  c = Q * diag (1 + cos (n * (1:4)).^2) * Q';
  C(:,:,n) = (c + c') / 2;
end
[Phi, info] = tlnmf_jd (C, "grad-tol", 1e-12);
G = sort (abs (Phi * Q), 2);
assert (max (max (G(:,1:3))) < 1e-6);

fails ("k = 0 is outside [1, 10000]", Y, 0);
fails ("nothing", Y, 2, "nothing", 1);
fails ("class double", single (Y), 2);
fails ("class double", Y + i, 2);
fails ("seed has no value", Y, 2, "seed");
fails ("powers must not be negative", -V, 1, "input", "power");
fails ("requires method nmf", V, 1, "input", "power", "method", "tl");
fails ("finite", NaN * Y, 2);
fails ("name each dimension once", Y, 2, "axes", "time,time,trials");
fails ("does not name the dimensions", Y, 2, "axes", "time,channels");
disp ("octave: fine");

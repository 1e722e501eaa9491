% tlnmf_fit  Learns an orthogonal Phi and nonnegative W, H such that (Phi * Y).^2 is close to W * H.
%
%   [Phi, W, H, info] = tlnmf_fit (Y, k)
%   [Phi, W, H, info] = tlnmf_fit (Y, k, "eps", 1e-8, "seed", 3, ...)
%   [Phi, W, H, info] = tlnmf_fit (C, k, "input", "covariances", ...)
%   [Phi, W, H, info] = tlnmf_fit (V, k, "input", "power", "dof", 2, ...)
%
% Y is M x N, frames in columns, or S x M x N with S realisations, as in a .mat file for the program;
% C is M x M x N. V holds powers, M x N, such as a power spectrogram: Itakura-Saito NMF of V with the
% identity as Phi; dof is their degrees of freedom (2 for abs (STFT).^2). "axes" names the dimensions
% of Y in another order, such as "channels,time,trials". "missing", true skips frames of a
% realisation that contain NaN; of powers it ignores only the entries that are NaN.
% The options are those of `tlnmf fit --help`. "start" takes a struct with any of Phi, W, H, such as an
% info: if it was fitted to powers, Y holds powers of the same dof, unless "dof" is given. info has all
% results: C, L, I, outcome, iterations, eps, ..
function [Phi, W, H, info] = tlnmf_fit (Y, k, varargin)
  [Y, kind, start, options] = tlnmf_arguments (Y, "realisations", varargin);
  if strncmp (kind, "power", 5)
    options = [{"method", "nmf", "transform", "identity", "eps-rel", 1e-6}, options];
    for word = {"method", "nmf"; "transform", "identity"}'
      at = find (strcmp (options(1:2:end), word{1}));
      if ~strcmp (options{2 * at(end)}, word{2})
        error ("tlnmf:option", "input power requires %s %s", word{1}, word{2});
      end
    end
  elseif isfield (start, "given_input") && strcmp (start.given_input, "power")
    error ("tlnmf:option", "%s; %s", "the start was fitted to powers, but input is not power: omit input", ...
           "or use only its arrays: start = struct (\"W\", info.W, \"H\", info.H)");
  end
  info = tlnmf_mex ("fit", Y, kind, [{"k", k}, options], start);
  if strncmp (kind, "power", 5)
    info.given_input = "power"; % as in model files
    info.given_dof = sscanf (kind, "power %d");
  end
  Phi = info.Phi;
  W = info.W;
  H = info.H;
end

% tlnmf_jd  Joint diagonalisation: Phi * C(:,:,n) * Phi' is nearly diagonal for all n.
%
%   [Phi, info] = tlnmf_jd (C)
%   [Phi, info] = tlnmf_jd (C, "seed", 3, ...)
%   [Phi, info] = tlnmf_jd (Y, "input", "realisations", ...)
%
% C is M x M x N, symmetric and positive semidefinite; Y is S x M x N, or as "axes" says. The options are those of
% `tlnmf jd --help`. "start" takes a struct with Phi.
function [Phi, info] = tlnmf_jd (C, varargin)
  [C, kind, start, options] = tlnmf_arguments (C, "covariances", varargin);
  info = tlnmf_mex ("jd", C, kind, options, start);
  Phi = info.Phi;
end

% tlnmf_apply  Fits the activations H to new frames, with the Phi, W and eps of a model.
%
%   [H, info] = tlnmf_apply (model, Y)
%   [H, info] = tlnmf_apply (model, Y, "tol", 1e-10, ...)
%
% model is the info of tlnmf_fit, or a struct with Phi, W and eps. Y is M x N or S x M x N;
% "axes" names its dimensions in another order. "input", "power" reads Y as powers, for a model of
% powers; "dof" and "missing" are as for tlnmf_fit.
function [H, info] = tlnmf_apply (model, Y, varargin)
  [Y, kind, ~, options] = tlnmf_arguments (Y, "realisations", varargin);
  info = tlnmf_mex ("apply", Y, kind, options, model);
  H = info.H;
end

% tlnmf_apply  Fits the activations H to new frames, with the Phi, W and eps of a model.
%
%   [H, info] = tlnmf_apply (model, Y)
%   [H, info] = tlnmf_apply (model, Y, "tol", 1e-10, ...)
%
% model is the info of tlnmf_fit, or a struct with Phi, W and eps. Y is M x N or S x M x N;
% "axes" names its dimensions in another order. "missing" is as for tlnmf_fit. If the
% model was fitted to powers, Y holds powers of the same dof, unless "input" or "dof" is given.
function [H, info] = tlnmf_apply (model, Y, varargin)
  [Y, kind, ~, options] = tlnmf_arguments (Y, "realisations", [{"start", model}, varargin]);
  info = tlnmf_mex ("apply", Y, kind, options, model);
  H = info.H;
end

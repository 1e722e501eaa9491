% tlnmf_arguments  Splits "input", "axes", "dof", "missing" and "start" from the options of the library,
% and brings the array into the memory order of the library. Powers become roots, of kind "power DOF", or
% with "missing" of kind "power DOF missing"; other data with "missing" are of kind "incomplete". "input"
% and "dof" default to those of a start that was fitted to powers.
function [Y, kind, start, options] = tlnmf_arguments (Y, kind, given)
  start = struct ();
  axes = "";
  input = "";
  dof = [];
  missing = false;
  options = {};
  for i = 1:2:numel (given)
    if i == numel (given)
      error ("tlnmf:option", "%s has no value", given{i});
    end
    switch given{i}
      case "input"
        input = given{i + 1};
      case "axes"
        axes = given{i + 1};
      case "dof"
        dof = given{i + 1};
      case "missing"
        missing = logical (given{i + 1});
      case "start"
        start = given{i + 1};
      otherwise
        options = [options, given(i:i + 1)];
    end
  end
  of_powers = isfield (start, "given_input") && strcmp (start.given_input, "power");
  if ~isempty (input)
    kind = input;
  elseif of_powers && strcmp (kind, "realisations")
    kind = "power";
  end
  if isempty (dof) && of_powers
    dof = start.given_dof;
  elseif isempty (dof)
    dof = 2; % of |STFT|^2
  end
  if strcmp (kind, "covariances")
    if ~isempty (axes) || missing
      error ("tlnmf:option", "axes and missing require data, not covariances");
    end
    Y = permute (Y, [2 1 3]);
  else
    Y = in_order (Y, axes);
  end
  if strcmp (kind, "power")
    if any (Y(:) < 0)
      error ("tlnmf:input", "powers must not be negative");
    end
    Y = sqrt (Y);
    kind = sprintf ("power %d", dof);
    if missing
      kind = [kind, " missing"];
    end
  elseif missing
    kind = "incomplete";
  end
end

% Y with its frames, their length and the realisations as dimensions 1, 2 and 3: reversed, as C stores
% (S, M, N).
function Y = in_order (Y, axes)
  roles = {{"time", "times", "frames"}, {"channels", "sensors", "length"}, ...
           {"trials", "epochs", "realisations"}};
  if isempty (axes)
    order = ndims (Y):-1:1;
  else
    names = strtrim (strsplit (axes, ","));
    order = zeros (1, 3);
    for i = 1:numel (names)
      role = find (cellfun (@(words) any (strcmp (words, names{i})), roles));
      if isempty (role) || order(role) > 0
        error ("tlnmf:option", "axes = %s: name each dimension once: %s", axes, ...
               "trials, epochs or realisations; channels, sensors or length; time, times or frames");
      end
      order(role) = i;
    end
    if any (order(1:2) == 0) || numel (names) < ndims (Y)
      error ("tlnmf:option", "axes = %s does not name the dimensions of Y", axes);
    end
    order(order == 0) = 3; % one realisation
  end
  Y = permute (Y, order);
end

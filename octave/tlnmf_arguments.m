% tlnmf_arguments  Splits "input" and "start" from the options of the library.
function [kind, start, options] = tlnmf_arguments (given)
  kind = "realisations";
  start = struct ();
  options = {};
  for i = 1:2:numel (given)
    if i == numel (given)
      error ("tlnmf:option", "%s has no value", given{i});
    end
    switch given{i}
      case "input"
        kind = given{i + 1};
      case "start"
        start = given{i + 1};
      otherwise
        options = [options, given(i:i + 1)];
    end
  end
end

// program.js: recognises experiments that bring a program of their own.

// Returns whether the experiment runs a program. Such an experiment has no fields of a model that dtrain trains.
export function isProgram(experiment) {
  const {command, run} = experiment.spec?.base ?? {};
  return Boolean(command?.length || run);
}

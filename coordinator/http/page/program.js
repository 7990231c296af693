// program.js: experiments that bring a program of their own.

// Such a one has none of the fields of a model that dtrain trains.
export function isProgram(experiment) {
  const {command, run} = experiment.spec?.base ?? {};
  return Boolean(command?.length || run);
}

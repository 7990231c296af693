#include "spec/other_words.h"

#include <array>
#include <string>

#include "absl/strings/ascii.h"

namespace dt::spec {
namespace {

// No system has a longer word.
constexpr size_t kLongest = 64;

// The table: a word of another system, or its last words with dots, then its meaning here: one of
// our paths, a sentence, or "" if there is no counterpart, so that no word of ours that only looks
// similar is proposed.
constexpr const char* kNoFolder =
    "a worker's --storage has the checkpoints; the file names no folder for them";
constexpr const char* kNoClass =
    "a file names no class of Python's; a script of your own runs with command: [python3, "
    "train.py]";

constexpr OtherWord kOtherPaths[] = {
    // Optimizers and batches, whatever the system
    {"learning_rate", "optimizer.lr"},
    {"max_lr", "optimizer.lr"},
    {"base_lr", "optimizer.lr"},
    {"init_lr", "optimizer.lr"},
    {"beta1", "optimizer.betas"},
    {"beta2", "optimizer.betas"},
    {"adam_beta1", "optimizer.betas"},
    {"adam_beta2", "optimizer.betas"},
    {"wd", "optimizer.weight_decay"},
    {"epsilon", "optimizer.eps"},
    {"adam_epsilon", "optimizer.eps"},
    {"optim", "optimizer.type"},
    {"optimizer.name", "optimizer.type"},
    {"init_args", kNoClass},
    {"class_path", kNoClass},
    {"model.target", kNoClass},
    {"optimizer.target", kNoClass},
    {"batch", "train.batch_size"},
    {"micro_batch_size", "train.batch_size"},
    {"per_device_train_batch_size", "train.batch_size"},
    {"train_batch_size", "train.global_batch_size"},
    {"effective_batch_size", "train.global_batch_size"},
    {"gradient_accumulation_steps", "train.global_batch_size"},
    {"grad_accum_steps", "train.global_batch_size"},
    {"accumulate_grad_batches", "train.global_batch_size"},
    {"aggregation_frequency", "train.global_batch_size"},
    {"total_batch_size", "train.global_batch_tokens"},
    {"sequence_length", "train.seq_len"},
    {"seq_length", "train.seq_len"},
    {"max_seq_len", "train.seq_len"},
    {"max_seq_length", "train.seq_len"},
    {"block_size", "train.seq_len"},
    {"context_length", "train.seq_len"},
    {"max_iters", "train.max_steps"},
    {"num_steps", "train.max_steps"},
    {"train_steps", "train.max_steps"},
    {"steps", "train.max_steps"},
    {"iterations", "train.max_steps"},
    {"num_iterations", "train.max_steps"},
    {"train_iters", "train.max_steps"},
    {"training_iteration", "the steps of a trial are train.max_steps, of a program steps"},
    {"timesteps_total", "the steps of a trial are train.max_steps, of a program steps"},
    {"num_epochs", "train.epochs"},
    {"num_train_epochs", "train.epochs"},
    {"max_epochs", "train.epochs"},
    {"max_length",
     "the steps of a trial are train.max_steps (of a program: steps), the tokens of a "
     "sequence train.seq_len"},
    {"walltime", "train.max_time"},
    {"max_runtime", "train.max_time"},
    {"max_grad_norm", "train.grad_clip"},
    {"clip_grad", "train.grad_clip"},
    {"gradient_clip_val", "train.grad_clip"},
    {"clip", "train.grad_clip"},
    {"warmup", "schedule.warmup_steps"},
    {"warmup_iters", "schedule.warmup_steps"},
    {"num_warmup_steps", "schedule.warmup_steps"},
    {"lr_decay", "schedule.type"},
    {"lr_scheduler", "schedule.type"},
    {"lr_scheduler_type", "schedule.type"},
    {".scheduler",
     "schedule is the course of the learning rate; search: {method: asha} ends poor trials early"},
    {"schedule.name", "schedule.type"},
    {"scheduler.name", "schedule.type"},
    {"scheduler.type", "schedule.type"},
    {"min_lr",
     "write schedule: {min_lr_ratio: 0.1}, the share of optimizer.lr that is left at "
     "the end"},
    {"lr_decay_iters", ""},
    {"random_seed", "seed"},
    {"experiment_seed", "seed"},
    {"rng_seed", "seed"},
    {"seed_everything", "seed"},
    // Models
    {"num_layers", "model.n_layer"},
    {"n_layers", "model.n_layer"},
    {"num_hidden_layers", "model.n_layer"},
    {"layers", "model.n_layer"},
    {"model.depth", "model.n_layer"},
    {"num_heads", "model.n_head"},
    {"n_heads", "model.n_head"},
    {"num_attention_heads", "model.n_head"},
    {"heads", "model.n_head"},
    {"hidden_size", "model.n_embd"},
    {"d_model", "model.n_embd"},
    {"n_embed", "model.n_embd"},
    {"model.dim", "model.n_embd"},
    {"model.width", "model.n_embd"},
    {"model.name", ""},
    {"model.type", ""},
    {"model.vocab", "model.vocab_size"},
    {"d_ff", "model.n_ff"},
    {"ffn_hidden_size", "model.n_ff"},
    {"intermediate_size", "model.n_ff"},
    {"max_position_embeddings", "model.n_positions"},
    {"gradient_checkpointing", "model.activation_checkpointing"},
    {"dtype", "precision.compute"},
    {"trainer.precision", "precision.compute"},
    {"train.precision", "precision.compute"},
    {"torch_dtype", "precision.compute"},
    {"bf16", "precision.compute"},
    {"fp16", "precision.compute"},
    {"amp", "precision.compute"},
    {"mixed_precision", "precision.compute"},
    {"fsdp", "parallel.strategy"},
    {"zero_stage", "parallel.strategy"},
    {"tensor_parallel_size", "parallel.tensor"},
    {"tensor_model_parallel_size", "parallel.tensor"},
    {"tp", "parallel.tensor"},
    {"pipeline_parallel_size", "parallel.pipeline"},
    {"pipeline_model_parallel_size", "parallel.pipeline"},
    {"pp", "parallel.pipeline"},
    {"compile", ""},
    // Data, evaluations, checkpoints and logs of training scripts
    {"dataset", "data.train"},
    {"data_dir", "data.train"},
    {"data_path", "data.train"},
    {"train_data", "data.train"},
    {"val_data", "data.val"},
    {"eval_interval", "eval.every"},
    {"eval_steps", "eval.every"},
    {"min_validation_period", "eval.every"},
    {"eval_iters", "eval.batches"},
    {"val_check_interval", "eval.every"},
    {"limit_val_batches", "eval.batches"},
    {"save_steps", "checkpoint.every"},
    {"save_interval", "checkpoint.every"},
    {"checkpoint_interval", "checkpoint.every"},
    {"checkpoint_freq", "checkpoint.every"},
    {"checkpoint_frequency", "checkpoint.every"},
    {"min_checkpoint_period", "checkpoint.every"},
    {"save_total_limit", "checkpoint.keep_latest"},
    {"num_to_keep", "checkpoint.keep_latest"},
    {"keep_checkpoints_num", "checkpoint.keep_latest"},
    {"save_trial_latest", "checkpoint.keep_latest"},
    {"save_trial_best", "checkpoint.keep_best"},
    {"checkpoint_policy", "checkpoint.keep_best"},
    {"checkpoint_at_end", ""},
    {"save_experiment_best", ""},
    {"load_best_model_at_end", ""},
    {"log_interval", "logging.every"},
    {"logging_steps", "logging.every"},
    {"log_every_n_steps", "logging.every"},
    {"out_dir", kNoFolder},
    {"output_dir", kNoFolder},
    {"checkpoint_storage", kNoFolder},
    {"metric_for_best_model", "search.metric"},
    {"greater_is_better", "search.goal"},
    {"min_delta", ""},
    {"resume_from_checkpoint", "model.init_from"},
    {"ckpt_path", "model.init_from"},
    {"early_stopping", "stop.patience"},
    {"early_stopping_patience", "stop.patience"},
    {"early_stopping_rounds", "stop.patience"},
    {"per_device_eval_batch_size", ""},
    // Resources
    {"world_size", "resources.gpus"},
    {"nproc_per_node", "resources.gpus"},
    {"num_gpus", "resources.gpus"},
    {"n_gpus", "resources.gpus"},
    {"devices", "resources.gpus"},
    {"trainer.accelerator", "resources.device"},
    {"train.accelerator", "resources.device"},
    {"gpu", "resources.gpus"},
    {"gpus_per_trial", "resources.gpus"},
    {"slots", "resources.gpus"},
    {"slots_per_trial", "resources.gpus"},
    {"max_slots", "resources.max_gpus_total"},
    {"is_single_node", "resources.single_node"},
    {"use_gpu", "resources.device"},
    {"gpu_type", "resources.accelerator"},
    {"accelerator_type", "resources.accelerator"},
    {"resource_pool", "resources.labels"},
    {"partition", "resources.labels"},
    {"node_selector", "resources.labels"},
    {"node",
     "the slots of a trial are resources.gpus, on one host or several; resources.labels "
     "chooses hosts"},
    {"nodes",
     "the slots of a trial are resources.gpus, on one host or several; resources.labels "
     "chooses hosts"},
    {"nnodes",
     "the slots of a trial are resources.gpus, on one host or several; resources.labels "
     "chooses hosts"},
    {"num_nodes",
     "the slots of a trial are resources.gpus, on one host or several; resources.labels "
     "chooses hosts"},
    {"cpu", ""},
    {"cpus", ""},
    {"core", ""},
    {"cores", ""},
    {"num_cpus", ""},
    {"num_workers", ""},
    {"mem", ""},
    {"memory", ""},
    {"shm_size", ""},
    {"image", ""},
    {"container", ""},
    {"bind_mounts", ""},
    {"volumes", ""},
    {".scheduling",
     "write resources: {priority: N}; here larger numbers go first, in Determined "
     "smaller ones do"},
    {"scheduling.priority",
     "write resources: {priority: N}; here larger numbers go first, in Determined "
     "smaller ones do"},
    {"weight",
     "write resources: {priority: N}: there are no shares by weight; quotas bound users "
     "and teams"},
    {"max_restarts", "retries.max"},
    {"max_failures", "retries.max"},
    {"retry", "retries"},
    {"backoff_limit", "retries.max"},
    {"stall_timeout", "timeout.report"},
    {"heartbeat_timeout", "timeout.report"},
    {"start_timeout", "timeout.start"},
    // W&B sweeps
    {"run_cap", "search.max_trials"},
    {"early_terminate", "search.asha"},
    {"max_iter", "train.max_steps"},
    {"min_iter", ""},
    {"program", "command"},
    {".metric", "write search: {metric: NAME, goal: minimize}, or maximize"},
    {"metric.name", "search.metric"},
    {"metric.goal", "search.goal"},
    {"metric.target", "search.target"},
    {".project", "write labels: {project: NAME}"},
    {".entity", "write labels: {team: NAME}"},
    {".group", "write labels: {group: NAME}"},
    {"tags", "labels"},
    // Optuna
    {"n_trials", "search.max_trials"},
    {"num_trials", "search.max_trials"},
    {"n_jobs", "search.max_concurrent"},
    {"direction", "search.goal"},
    {"directions", "search.goal"},
    {"reduction_factor", "search.asha.eta"},
    {"pruner", "search.asha"},
    {"sampler", "search.method"},
    {"enqueue_trial", "include"},
    {"enqueue", "include"},
    {"study_name", "name"},
    {"load_if_exists", ""},
    {".params", "parameters"},
    {"n_initial_points", ""},
    {".storage", ""},
    {"n_startup_trials", ""},
    {"n_warmup_steps", "stop.median.after"},
    // Ray Tune
    {"mode", "search.goal"},
    {"num_samples", "search.max_trials"},
    {"param_space", "parameters"},
    {"search_space", "parameters"},
    {".config", "parameters"},
    {"points_to_evaluate", "include"},
    {"search_alg", "search.method"},
    {"grace_period", "search.asha.rungs"},
    {"max_t", "train.max_steps"},
    {"time_attr", ""},
    {"time_budget_s", ""},
    {"local_dir", kNoFolder},
    {"storage_path", kNoFolder},
    {"tune_config", "search"},
    {"max_concurrent_trials", "search.max_concurrent"},
    {"fail_fast", "search.max_failed_trials"},
    {"perturbation_interval", "search.pbt.every"},
    {"quantile_fraction", "search.pbt.quantile"},
    {"perturbation", "search.pbt"},
    {"perturbation_factors", "search.pbt"},
    {"resample_probability", "search.pbt.resample"},
    {"hyperparam_mutations", "parameters"},
    {"population_size", "search.max_trials"},
    {"runtime_env", "resources.env"},
    {"working_dir", "workdir"},
    {"env_vars", "resources.env"},
    {"resources_per_trial", "resources"},
    {"resources_per_worker", "resources"},
    {"scaling_config", "resources"},
    {"stopper", "stop"},
    {"num_workers_per_trial", "resources.gpus"},
    // Determined
    {"searcher", "search"},
    {"searcher.name", "search.method"},
    {"search.name", "search.method"},
    {"search.type", "search.method"},
    {"searcher.type", "search.method"},
    {"time_metric", ""},
    {"searcher.mode", "search.asha.brackets"},
    {"searcher.max_length", "train.max_steps"},
    {"entrypoint", "command"},
    {"environment", "resources.env"},
    {"environment_variables", "resources.env"},
    {"context", "code"},
    {"divisor", "search.asha.eta"},
    {"max_rungs", "search.asha.rungs"},
    {"num_rungs", "search.asha.rungs"},
    {"smaller_is_better", "search.goal"},
    {"hyperparameters", "parameters"},
    {"hparams", "parameters"},
    {"bracket_rungs", "search.asha.brackets"},
    {"num_brackets", "search.asha.brackets"},
    {"stop_once", ""},
    {"records_per_epoch", ""},
    {"scheduling_unit", ""},
    {"perform_initial_validation", ""},
    {"profiling", ""},
    {"reproducibility", "seed"},
    {"workspace", "write labels: {workspace: NAME}"},
    // Katib, NNI, Kubernetes
    {"max_concurrent", "search.max_concurrent"},
    {"parallel_trial_count", "search.max_concurrent"},
    {"trial_concurrency", "search.max_concurrent"},
    {"max_trial_count", "search.max_trials"},
    {"max_trial_number", "search.max_trials"},
    {"max_failed_trial_count", "search.max_failed_trials"},
    {".objective", "write search: {metric: NAME, goal: maximize}, or minimize"},
    {"objective.type", "search.goal"},
    {"objective.goal", "search.target"},
    {"objective_metric_name", "search.metric"},
    {"algorithm", "search.method"},
    {"algorithm_name", "search.method"},
    {"tuner", "search.method"},
    {"assessor", "stop.median"},
    {"trial_template", "command"},
    {"trial_command", "command"},
    {"trial_code_directory", "code"},
    {"api_version",
     "an experiment file is no Kubernetes manifest: it begins with version: 1 and a name"},
    {".kind", "an experiment file is no Kubernetes manifest: it begins with version: 1 and a name"},
    {".metadata",
     "an experiment file is no Kubernetes manifest: it begins with version: 1 and a name"},
    {".spec", "an experiment file is no Kubernetes manifest: it begins with version: 1 and a name"},
    // Hydra
    {"hydra",
     "a program that uses Hydra takes its values by name: command: [python3, train.py, "
     "\"lr={lr}\"]"},
    {"hydra.sweeper.params", "parameters"},
    {"sweeper", "search"},
    {"trainer", "train"},
    {"defaults", ""},
    // For programs, whatever the system
    {"env", "resources.env"},
    {"script", "command"},
    {"args", "command"},
    {"cmd", "command"},
    {"cwd", "workdir"},
    {".sweep", "parameters"},
    {".grid", "parameters"},
    {".matrix", "parameters"},
    // Words of a parameter that belong elsewhere
    {".values",
     "values stand under a parameter: parameters: {optimizer.lr: {values: [1.0e-4, "
     "3.0e-4]}}"},
    {"distribution",
     "min, max and scale of a parameter say it: parameters: {optimizer.lr: {min: "
     "1.0e-5, max: 0.01, scale: log}}"},
    {"log_uniform",
     "min, max and scale of a parameter say it: parameters: {optimizer.lr: {min: "
     "1.0e-5, max: 0.01, scale: log}}"},
    {".uniform",
     "min and max of a parameter say it: parameters: {model.dropout: {min: 0, max: 0.3}}"},
    {".q",
     "step of a parameter says it: parameters: {model.n_embd: {min: 128, max: 512, "
     "step: 64}}"},
};

// Folds spelling: "maxTrialCount", "max-trial-count" and "max_trial_count" are one word.
std::string Folded(std::string_view word) {
  std::string folded;
  for (const char c : word) {
    if (c != '_' && c != '-') folded += absl::ascii_tolower(c);
  }
  return folded;
}

bool EndsWithWords(std::string_view path, std::string_view words) {
  if (path.size() < words.size() || path.substr(path.size() - words.size()) != words) return false;
  return path.size() == words.size() || path[path.size() - words.size() - 1] == '.';
}

}  // namespace

std::span<const OtherWord> OtherPaths() { return kOtherPaths; }

std::optional<std::string_view> OtherPath(std::string_view path) {
  if (path.size() > kLongest) return std::nullopt;
  const std::string folded = Folded(path);
  const OtherWord* found = nullptr;
  for (const OtherWord& one : kOtherPaths) {
    const bool top = one.theirs.front() == '.';
    const bool same =
        top ? folded == Folded(one.theirs.substr(1)) : EndsWithWords(folded, Folded(one.theirs));
    if (!same) continue;
    if (found == nullptr || one.theirs.size() > found->theirs.size()) found = &one;
  }
  return found == nullptr ? std::nullopt : std::optional(found->ours);
}

}  // namespace dt::spec

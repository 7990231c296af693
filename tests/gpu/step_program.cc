// step_program.cc: gpu_step: trains a specification alone on a GPU and reports on one step: rows,
// the memory that `dtctl plan` estimates and the memory that was used, and with TRACE the step's
// kernels as LibTorch's profiler sees them. ./dev gpu-day runs it, under ncu too: one step lies
// between cudaProfilerStart and cudaProfilerStop.
//
// usage: gpu_step SPEC.json DATA_ROOT STEP OUT.json [TRACE.json]
#include <c10/cuda/CUDAFunctions.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <cstdio>
#include <cstdlib>

#include "common/files.h"
#include "plan/cost.h"
#include "worker/trainer/device/device.h"
#include "worker/trainer/device/failure.h"
#include "worker/trainer/run/train.h"
#include "worker/trainer/trial/flops.h"
#include "worker/trainer/trial/share_text.h"

namespace dt::trainer {
namespace {

namespace profiler = torch::autograd::profiler;

constexpr uint64_t kSpecBytesMax = 1 << 20;
constexpr uint64_t kManyWindows = uint64_t{1} << 40;  // so that the data do not bound the plan
constexpr int kUsageError = 2;

// Returns a function of the CUDA runtime, or null: tests/fake_cuda has no profiler.
template <typename Function>
Function* OfRuntime(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// ncu sees the work between Begin and End, and so does the profiler if there is a trace.
class StepWindow {
 public:
  explicit StepWindow(std::string trace) : trace_(std::move(trace)) {}
  void Begin() {
    c10::cuda::device_synchronize();
    if (!trace_.empty()) {
      const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
      const std::set<profiler::ActivityType> kinds = {profiler::ActivityType::CUDA};
      profiler::prepareProfiler(config, kinds);
      profiler::enableProfiler(config, kinds);
    }
    if (auto* start = OfRuntime<int()>("cudaProfilerStart")) start();
  }
  void End() {
    c10::cuda::device_synchronize();
    if (auto* stop = OfRuntime<int()>("cudaProfilerStop")) stop();
    if (!trace_.empty()) profiler::disableProfiler()->save(trace_);
  }

 private:
  const std::string trace_;
};

// Returns the device's free bytes, or 0 if it does not tell.
uint64_t FreeBytes() {
  size_t free = 0, total = 0;
  auto* ask = OfRuntime<int(size_t*, size_t*)>("cudaMemGetInfo");
  return ask != nullptr && ask(&free, &total) == 0 ? free : 0;
}

class StepConversation final : public Conversation {
 public:
  StepConversation(int step, std::string trace) : step_(step), window_(std::move(trace)) {}
  void Say(const frames::FromTrainer& frame) override {
    if (const auto* done = std::get_if<frames::StepDone>(&frame)) rows.push_back(done->row);
  }
  // Called by the attempt before each step.
  StopRequest CurrentStopRequest() const override {
    ++asked_;
    if (asked_ == step_) {
      free_before_ = FreeBytes();
      if (const absl::Status begun = Try([&] { window_.Begin(); }); !begun.ok()) Note(begun);
    }
    if (asked_ == step_ + 1) {
      if (const absl::Status ended = Try([&] { window_.End(); }); !ended.ok()) Note(ended);
    }
    return StopRequest::kNone;
  }
  absl::StatusOr<std::string> AwaitStoreAddress(std::chrono::milliseconds) override {
    return CollectiveError("there is one rank");
  }
  void AbortWith(std::function<void()> /*abort*/) override {}
  std::optional<uint64_t> RegisteredStep() const override { return std::nullopt; }
  void AwaitRegistered(uint64_t, std::chrono::milliseconds) override {}

  nlohmann::json rows = nlohmann::json::array();
  const std::string& trouble() const { return trouble_; }
  uint64_t free_bytes() const { return free_before_; }

 private:
  template <typename Body>
  static absl::Status Try(const Body& body) {
    return Guarded([&] {
      body();
      return absl::OkStatus();
    });
  }
  void Note(const absl::Status& status) const { trouble_ = std::string(status.message()); }

  const int step_;
  mutable StepWindow window_;
  mutable int asked_ = 0;
  mutable uint64_t free_before_ = 0;
  mutable std::string trouble_;
};

absl::StatusOr<nlohmann::json> PlanOf(const nlohmann::json& json) {
  DT_ASSIGN_OR_RETURN(const TrialSpec spec, ParseTrialSpec(json));
  DT_ASSIGN_OR_RETURN(const StepPlan plan, PlanSteps(spec, 0, 1, kManyWindows));
  const plan::ModelSize model = SizeOf(spec.model);
  const plan::StepSize step = StepSizeOf(spec, plan, spec.compute, /*cuda=*/true);
  return nlohmann::json{{"tensor_bytes", plan::TensorBytes(model, step)},
                        {"memory_bytes", plan::MemoryBytes(model, step)},
                        {"held_bytes", plan::HeldBytes(model, step)},
                        {"activation_bytes", plan::ActivationBytes(model, step)}};
}

absl::Status Run(char** arguments, const std::string& trace) {
  DT_ASSIGN_OR_RETURN(const std::string text, ReadFile(arguments[1], kSpecBytesMax));
  frames::Start start;
  start.token = std::string(32, '1');
  start.experiment = start.trial = start.attempt = 1;
  start.spec = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  start.data_root = arguments[2];
  start.data_address = "127.0.0.1";
  DT_ASSIGN_OR_RETURN(const nlohmann::json plan, PlanOf(start.spec));
  DT_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, OpenDevice({.word = "cuda:0"}));
  const uint64_t free_at_first = FreeBytes();
  StepConversation conversation(std::atoi(arguments[3]), trace);
  const AttemptOutcome outcome = RunAttempt(start, *device, conversation, {});
  const uint64_t used = free_at_first - std::min(free_at_first, conversation.free_bytes());
  const nlohmann::json told = {{"device", device->Facts().name},
                               {"cause", outcome.end.cause},
                               {"message", outcome.end.message},
                               {"rows", conversation.rows},
                               {"plan", plan},
                               {"used_bytes", used},
                               {"trouble", conversation.trouble()}};
  return WriteFileAtomically(arguments[4], told.dump() + "\n");
}

}  // namespace
}  // namespace dt::trainer

int main(int count, char** arguments) {
  if (count < 5 || count > 6) {
    std::fprintf(stderr, "usage: gpu_step SPEC.json DATA_ROOT STEP OUT.json [TRACE.json]\n");
    return dt::trainer::kUsageError;
  }
  const absl::Status ran = dt::trainer::Run(arguments, count == 6 ? arguments[5] : "");
  if (ran.ok()) return 0;
  std::fprintf(stderr, "gpu_step: %s\n", std::string(ran.message()).c_str());
  return 1;
}

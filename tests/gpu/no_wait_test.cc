// no_wait_test.cc: on a GPU the host does not wait inside a step whose values are not read back.
#include <c10/cuda/CUDAFunctions.h>

#include "tests/gpu/device_fixture.h"

namespace dt::trainer {
namespace {

using c10::cuda::SyncDebugMode;

constexpr int kSteps = 12;

// In the strict mode, LibTorch throws if it would wait: to read a value, or to copy from memory
// that is not pinned.
void SetWaiting(SyncDebugMode mode) { c10::cuda::warning_state().set_sync_debug_mode(mode); }

class NoWaitTest : public DeviceTest {
 protected:
  // Refuses to wait, from the step at which all lasting things exist until the last step, which is
  // read back.
  Told TrainRefusingToWait(nlohmann::json spec) {
    spec["train"]["max_steps"] = std::to_string(kSteps);
    RecordedConversation conversation;
    conversation.on_question = [](int question) {
      if (question == 3) SetWaiting(SyncDebugMode::L_ERROR);
      if (question == kSteps) SetWaiting(SyncDebugMode::L_DISABLED);
    };
    const Told told = Train(spec, AttemptOptions::Alone::kPlain, conversation);
    SetWaiting(SyncDebugMode::L_DISABLED);
    return told;
  }
  static nlohmann::json RarelyLogged() {
    nlohmann::json spec = SmallSpec();
    spec["logging"] = {{"every", "1000"}};
    return spec;
  }
};

TEST_P(NoWaitTest, AStepThatIsNotLoggedDoesNotWait) {
  for (const char* compute : {"fp32", "bf16", "fp16"}) {
    for (const char* stop : {"fail", "skip", "rollback"}) {
      nlohmann::json spec = RarelyLogged();
      spec["precision"]["compute"] = compute;
      spec["stop"] = {{"nonfinite", stop}};
      const Told told = TrainRefusingToWait(spec);
      EXPECT_EQ(told.Cause(), "finished") << compute << " " << stop << told.Message();
    }
  }
  const at::Tensor number = at::zeros({}, at::TensorOptions(device_->Torch()));
  SetWaiting(SyncDebugMode::L_ERROR);
  EXPECT_THROW(number.item<float>(), c10::Error) << "waiting would be seen";
  SetWaiting(SyncDebugMode::L_DISABLED);
}

// A logged step waits for the device as a unit, which LibTorch allows here; it reads no single
// number by itself.
TEST_P(NoWaitTest, G10ALoggedStepWaitsForNoSingleNumber) {
  const Told told = TrainRefusingToWait(SmallSpec());
  EXPECT_EQ(told.Cause(), "finished") << told.Message();
  EXPECT_EQ(told.rows.size(), static_cast<size_t>(kSteps));
}

TEST_P(NoWaitTest, AccumulationDropoutAndActivationCheckpointingDoNotWait) {
  nlohmann::json spec = RarelyLogged();
  spec["precision"]["compute"] = "bf16";
  spec["train"]["global_batch_size"] = "16";
  spec["model"]["dropout"] = 0.1;
  spec["model"]["activation_checkpointing"] = "block";
  const Told told = TrainRefusingToWait(spec);
  EXPECT_EQ(told.Cause(), "finished") << told.Message();
}

INSTANTIATE_TEST_SUITE_P(OnA, NoWaitTest, ::testing::Values("cuda:0"),
                         [](const auto&) { return "Gpu"; });

}  // namespace
}  // namespace dt::trainer

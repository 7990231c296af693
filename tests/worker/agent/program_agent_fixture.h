// program_agent_fixture.h: an agent whose orders bring programs.
#pragma once

#include "tests/worker/agent/agent_fixture.h"

namespace dt {

class AgentProgramTest : public AgentTest {
 protected:
  AgentProgramTest() { state_.options.hello.set_programs(true); }

  static v1::Orders HoldingProgram(uint8_t token, int rank = 0, int world_size = 1) {
    v1::Orders orders = Holding(token, rank, world_size);
    orders.mutable_attempt()->mutable_spec()->add_command("true");
    orders.mutable_attempt()->set_submitted_by("ann");
    orders.mutable_attempt()->set_experiment_name("mine");
    orders.mutable_attempt()->add_local_devices("GPU-1");
    return orders;
  }
  void ReachProgram() {
    Connect();
    Order(HoldingProgram(1));
    TrainerComesUp();
    Say(frames::Prepared{.token = Hex(1), .target_steps = 100});
    Say(frames::Running{Hex(1), 0});
    DeliverReports();
    actions_.clear();
  }
};

}  // namespace dt

// actions_test.cc: the order of a step's actions, simulated for all stages of a pipeline at once.
#include "worker/trainer/parallel/actions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "plan/stages.h"

namespace dt::trainer {
namespace {

using Kind = Action::Kind;

TEST(StepActionsTest, AloneEachBackwardPassFollowsItsForwardPass) {
  const auto forward = [](int64_t m) { return Action{Kind::kForward, m}; };
  const auto backward = [](int64_t m, bool last) {
    return Action{Kind::kBackward, m, 0, last, last};
  };
  EXPECT_EQ(StepActions({}, 1, 0), (std::vector<Action>{forward(0), backward(0, true)}));
  EXPECT_EQ(StepActions({}, 3, 0),
            (std::vector<Action>{forward(0), backward(0, false), forward(1), backward(1, false),
                                 forward(2), backward(2, true)}));
}

struct Case {
  PipelineShape shape;
  int64_t micro_steps = 0;
};
std::string Name(const Case& one) {
  return std::to_string(one.shape.stages) + " stages, " + std::to_string(one.shape.chunks) +
         " chunks, " + std::to_string(one.micro_steps) + " micro-steps";
}
std::vector<Case> Cases(PipelineSchedule schedule, const std::vector<int>& chunks) {
  std::vector<Case> cases;
  for (int stages = 2; stages <= 8; ++stages) {
    for (const int each : chunks) {
      for (const int64_t turns : {1, 2, 4}) {
        cases.push_back({{schedule, stages, each}, turns * stages});
      }
      if (each == 1) cases.push_back({{schedule, stages, each}, 1});
      if (each == 1) cases.push_back({{schedule, stages, each}, 2 * stages + 1});
    }
  }
  return cases;
}
std::vector<Case> AllCases() {
  std::vector<Case> all = Cases(PipelineSchedule::k1F1B, {1});
  for (const Case& one : Cases(PipelineSchedule::kGPipe, {1})) all.push_back(one);
  for (const Case& one : Cases(PipelineSchedule::kInterleaved, {2, 3, 4})) all.push_back(one);
  return all;
}

// The course of all stages, where a forward pass takes one unit of time, a backward pass two, and a
// message none. A pass of chunk c of stage s is the model's (c · stages + s)-th.
struct Played {
  bool ends = true;  // no stage waits for ever
  int64_t time = 0;
  std::vector<int64_t> most_in_flight;  // by stage: passes between forward and backward
  // By direction and sender: messages in the order of sending, and of receiving.
  std::map<std::pair<bool, int>, std::vector<std::pair<int64_t, int64_t>>> sent, taken;
};

Played Play(const Case& one) {
  const auto [schedule, stages, chunks] = one.shape;
  const int64_t last = int64_t{stages} * chunks - 1;
  std::vector<std::vector<Action>> lists;
  for (int stage = 0; stage < stages; ++stage) {
    lists.push_back(StepActions(one.shape, one.micro_steps, stage));
  }
  // The time at which a pass of a micro-step ends.
  std::map<std::tuple<bool, int64_t, int64_t>, int64_t> over;
  std::vector<size_t> next(static_cast<size_t>(stages), 0);
  std::vector<int64_t> free(static_cast<size_t>(stages), 0), flying(free);
  Played played;
  played.most_in_flight = free;
  for (bool moves = true; moves;) {
    moves = false;
    for (int stage = 0; stage < stages; ++stage) {
      const auto s = static_cast<size_t>(stage);
      if (next[s] == lists[s].size()) continue;
      const Action& action = lists[s][next[s]];
      const bool forward = action.kind == Kind::kForward;
      const int64_t place = action.chunk * stages + stage;
      const bool needs = forward ? place > 0 : place < last;
      int64_t from = free[s];
      if (needs) {
        const auto before =
            over.find({forward, forward ? place - 1 : place + 1, action.micro_step});
        if (before == over.end()) continue;
        from = std::max(from, before->second);
        const int sender = (stage + (forward ? stages - 1 : 1)) % stages;
        played.taken[{forward, sender}].push_back({action.micro_step, place});
      }
      EXPECT_TRUE(forward || over.contains({true, place, action.micro_step})) << Name(one);
      free[s] = from + (forward ? 1 : 2);
      over[{forward, place, action.micro_step}] = free[s];
      if (forward ? place < last : place > 0) {
        played.sent[{forward, stage}].push_back(
            {action.micro_step, forward ? place + 1 : place - 1});
      }
      flying[s] += forward ? 1 : -1;
      played.most_in_flight[s] = std::max(played.most_in_flight[s], flying[s]);
      ++next[s];
      moves = true;
    }
  }
  for (int stage = 0; stage < stages; ++stage) {
    const auto s = static_cast<size_t>(stage);
    played.ends = played.ends && next[s] == lists[s].size();
    played.time = std::max(played.time, free[s]);
  }
  return played;
}

TEST(StepActionsTest, NoStageWaitsEndlessly) {
  for (const Case& one : AllCases()) EXPECT_TRUE(Play(one).ends) << Name(one);
}

TEST(StepActionsTest, EachPassIsMadeOnceEachWayAndCompletesGradientsOnceAChunk) {
  for (const Case& one : AllCases()) {
    for (int stage = 0; stage < one.shape.stages; ++stage) {
      std::set<std::tuple<Kind, int64_t, int64_t>> made;
      std::set<int64_t> complete;
      const std::vector<Action> actions = StepActions(one.shape, one.micro_steps, stage);
      for (const Action& action : actions) {
        EXPECT_TRUE(made.insert({action.kind, action.micro_step, action.chunk}).second);
        EXPECT_FALSE(complete.contains(action.chunk) && action.kind == Kind::kBackward);
        if (action.completes) complete.insert(action.chunk);
        EXPECT_EQ(action.last, &action == &actions.back());
      }
      EXPECT_EQ(static_cast<int64_t>(made.size()), 2 * one.micro_steps * one.shape.chunks);
      EXPECT_EQ(static_cast<int>(complete.size()), one.shape.chunks) << Name(one);
    }
  }
}

// Messages then need no names, and NCCL needs one group for each direction.
TEST(StepActionsTest, BothEndsOfAWaySendAndTakeInOneOrder) {
  size_t ways = 0;
  for (const Case& one : AllCases()) {
    const Played played = Play(one);
    EXPECT_EQ(played.sent.size(), played.taken.size());
    for (const auto& [way, sent] : played.sent) {
      EXPECT_EQ(sent, played.taken.at(way)) << Name(one) << ", from stage " << way.second;
      ++ways;
    }
  }
  EXPECT_GT(ways, 500u);
}

TEST(StepActionsTest, StagesWaitAsLongAsTheFormulaSays) {
  for (const Case& one : AllCases()) {
    if (one.micro_steps % one.shape.stages != 0) continue;
    const auto works = static_cast<double>(3 * one.micro_steps * one.shape.chunks);
    const auto time = static_cast<double>(Play(one).time);
    EXPECT_DOUBLE_EQ((time - works) / time,
                     plan::BubbleRatio(one.shape.stages, one.shape.chunks, one.micro_steps))
        << Name(one);
  }
}

TEST(StepActionsTest, TheFirstStageKeepsAsManyMicroStepsAsThereAreStagesAndGPipeAll) {
  for (const int stages : {2, 4, 8}) {
    const int64_t micro_steps = 4 * stages;
    const auto most = [&](PipelineSchedule schedule, int chunks) {
      return Play({{schedule, stages, chunks}, micro_steps}).most_in_flight[0];
    };
    EXPECT_EQ(most(PipelineSchedule::k1F1B, 1), stages);
    EXPECT_EQ(most(PipelineSchedule::kGPipe, 1), micro_steps);
    EXPECT_EQ(most(PipelineSchedule::kInterleaved, 2), 2 * (stages - 1) + stages + 1);
  }
}

}  // namespace
}  // namespace dt::trainer

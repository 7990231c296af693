// planning_test.cc: the estimated cost of an experiment, from the workers, the queue and the
// history.
#include "coordinator/core/answer/plan/planning.h"

#include "plan/cost.h"
#include "tests/testing/core_fixture.h"
#include "tests/testing/plans.h"

namespace dt {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

class PlanningTest : public CoreTest {
 protected:
  v1::PlanResponse Plan(const v1::ExperimentSpec& spec) {
    const auto plan =
        TryPlan(spec, [this](const PlanAsk& ask) { return Call<v1::PlanResponse>(ask); });
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.value_or(v1::PlanResponse());
  }
  static std::string Notes(const v1::PlanResponse& plan) {
    std::string all;
    for (const std::string& note : plan.notes()) all += note + "\n";
    return all;
  }
  static bool Says(const v1::PlanResponse& plan, const std::string& part) {
    return Notes(plan).find(part) != std::string::npos;
  }
  static v1::ExperimentSpec Urgent(v1::ExperimentSpec spec) {
    spec.mutable_base()->mutable_resources()->set_priority(5);
    return spec;
  }
  // Returns a small GPT whose trials all make `steps` steps.
  static v1::ExperimentSpec Small(int steps = 100) {
    v1::ExperimentSpec spec = OneTrial();
    spec.mutable_base()->mutable_train()->set_max_steps(steps);
    spec.mutable_base()->mutable_train()->set_batch_size(4);
    spec.mutable_base()->mutable_train()->set_seq_len(64);
    for (const char* path : {"train.batch_size", "train.seq_len"}) spec.add_explicit_paths(path);
    return spec;
  }
  void AddDevice(const std::string& name, const std::string& device_name, uint64_t memory) {
    TestWorker& worker = AddWorker(name);
    worker.hello.set_device_name(device_name);
    worker.hello.set_memory_bytes(memory);
    Connect(name);
  }
  // Returns a name for each row: "zero1 tensor 2".
  static std::vector<std::string> Ways(const v1::PlannedTrials& kind) {
    std::vector<std::string> ways;
    for (const v1::PlannedStrategy& row : kind.strategies()) {
      std::string& way = ways.emplace_back(row.strategy());
      if (row.shard() > 0) absl::StrAppend(&way, " of ", row.shard());
      if (row.tensor() > 1) absl::StrAppend(&way, " tensor ", row.tensor());
      if (row.pipeline() > 1) absl::StrAppend(&way, " pipeline ", row.pipeline());
    }
    return ways;
  }
  // Trains one trial of the experiment on `worker`: 256 tokens in each of 100 steps of 2 s.
  void TrainOne(const std::string& worker) {
    Train({worker});
    v1::StepRow row;
    row.set_step(100);
    row.set_tokens(25600);
    row.set_seconds(200);
    SendRows(worker, row);
    Finish({worker});
  }
  // Plans a trial of two ranks after a similar one, which summed so many bytes in so many seconds.
  v1::PlannedTrials PlanAfterSums(double bytes, double seconds) {
    for (const char* name : {"a", "b"}) {
      if (!workers_.contains(name)) AddDevice(name, "Cpu", 64 * kGiB);
    }
    v1::ExperimentSpec spec = Small();
    spec.mutable_base()->mutable_resources()->set_gpus(2);
    spec.add_explicit_paths("resources.gpus");
    Submit(spec);
    Train({"a", "b"});
    v1::StepRow row;
    row.set_step(100);
    row.set_tokens(25600);
    row.set_seconds(200);
    v1::Collective& sum = *row.add_collectives();
    sum.set_op("all_reduce");
    sum.set_axis("data");
    sum.set_ranks(2);
    sum.set_bytes(bytes);
    sum.set_seconds(seconds);
    SendRows("a", row);
    Finish({"a", "b"});
    return Plan(spec).configurations(0);
  }
};

TEST_F(PlanningTest, TrialsThatCostTheSameAreOneKind) {
  v1::ExperimentSpec spec = Trials(3, Small());
  spec = Sweep(spec, "train.batch_size", {IntegerValue(4), IntegerValue(8)});
  const v1::PlanResponse plan = Plan(spec);
  EXPECT_EQ(plan.trials(), 6u);
  ASSERT_EQ(plan.configurations_size(), 2);
  EXPECT_EQ(plan.configurations(0).trials(), 3u);
  EXPECT_EQ(plan.configurations(1).trials(), 3u);
  EXPECT_GT(plan.configurations(1).memory_bytes(), plan.configurations(0).memory_bytes());
}

TEST_F(PlanningTest, WithoutWorkersNothingFitsAndNoTimeIsKnown) {
  const v1::PlanResponse plan = Plan(Small());
  EXPECT_FALSE(plan.configurations(0).fits());
  EXPECT_EQ(plan.configurations(0).lacks(), "needs 1 cpu slot; none is there");
  EXPECT_LT(plan.slot_seconds(), 0);
  EXPECT_LT(plan.finish_seconds(), 0);
}

TEST_F(PlanningTest, MemoryIsComparedWithTheSmallestSlotAndSlotsOfAHostShareIts) {
  AddDevice("a", "Cpu", 64 * kGiB);
  EXPECT_TRUE(Plan(Small()).configurations(0).fits());
  AddDevice("b", "Cpu", 64 * kGiB);
  EXPECT_EQ(Plan(Small()).configurations(0).device_bytes(), 32 * kGiB);
  for (const char* name : {"a", "b"}) {
    workers_.at(name).hello.set_memory_bytes(2 * kGiB);
    Connect(name);
  }
  const v1::PlannedTrials kind = Plan(Small()).configurations(0);
  EXPECT_FALSE(kind.fits()) << "GPT-2 takes 2 GB for its parameters alone";
  EXPECT_NE(kind.lacks().find("of a slot's 1.0 GiB"), std::string::npos) << kind.lacks();
}

TEST_F(PlanningTest, AWorkersLimitBoundsATrialsMemory) {
  AddDevice("a", "Cpu", 64 * kGiB);
  workers_.at("a").hello.set_memory_limit_bytes(1 * kGiB);
  Connect("a");
  const v1::PlannedTrials kind = Plan(Small()).configurations(0);
  EXPECT_EQ(kind.device_bytes(), 1 * kGiB);
  EXPECT_FALSE(kind.fits());
}

TEST_F(PlanningTest, OnlyWorkersThatWouldDoAreCounted) {
  AddDevice("a", "Cpu", 64 * kGiB);
  AddDevice("b", "Cpu", 64 * kGiB);
  const auto lacks = [this](const auto& change) {
    v1::ExperimentSpec spec = Small();
    change(*spec.mutable_base()->mutable_resources());
    const v1::PlannedTrials kind = Plan(spec).configurations(0);
    EXPECT_EQ(kind.fits(), kind.lacks().empty());
    return kind.lacks();
  };
  using Resources = v1::Resources;
  EXPECT_EQ(lacks([](Resources& asked) { asked.set_accelerator("h100"); }),
            "needs 1 cpu slot with accelerator h100; none is there; no connected worker has "
            "accelerator h100");
  const std::string zone = lacks([](Resources& asked) {
    v1::Label& label = *asked.add_labels();
    label.set_key("zone");
    label.set_value("a");
  });
  EXPECT_NE(zone.find("no connected worker has label zone=a"), std::string::npos) << zone;
  EXPECT_EQ(lacks([](Resources& asked) { asked.set_gpus(2); }), "");
  workers_.at("b").hello.set_host("elsewhere");
  Connect("b");
  EXPECT_EQ(lacks([](Resources& asked) {
              asked.set_gpus(2);
              asked.set_single_node(true);
            }),
            "needs 2 cpu slots on one host; 1 is there");
  for (const char* name : {"a", "b"}) {
    v1::MarkWorkerRequest drain;
    drain.set_worker(name);
    drain.set_drain(true);
    EXPECT_TRUE(Call<v1::MarkWorkerResponse>(drain).ok());
  }
  EXPECT_EQ(lacks([](Resources&) {}), "needs 1 cpu slot; none is there");
}

TEST_F(PlanningTest, TimeComesFromTrialsOfTheSameModelOnTheSameDevice) {
  AddDevice("a", "Cpu", 64 * kGiB);
  Submit(Small());
  TrainOne("a");
  const v1::PlanResponse plan = Plan(Trials(3, Small(50)));
  ASSERT_EQ(plan.configurations_size(), 1);
  EXPECT_NEAR(plan.configurations(0).seconds(), 100, 1e-6);
  EXPECT_EQ(plan.configurations(0).estimated_from(), "1 trial of the same model");
  EXPECT_NEAR(plan.slot_seconds(), 300, 1e-6);
  EXPECT_NEAR(plan.finish_seconds(), 300, 1e-6) << "one after another on one slot";
  AddDevice("b", "Cpu", 64 * kGiB);
  EXPECT_NEAR(Plan(Trials(3, Small(50))).finish_seconds(), 200, 1e-6);
  EXPECT_NEAR(Plan(AtMost(1, Trials(3, Small(50)))).finish_seconds(), 300, 1e-6);
}

TEST_F(PlanningTest, ValidationTakesAThirdOfTheTimeOfTrainingOnItsTokens) {
  AddDevice("a", "Cpu", 64 * kGiB);
  Submit(Small());
  TrainOne("a");
  v1::ExperimentSpec spec = Small(50);
  const auto seconds = [&](int64_t every, int64_t tokens, int32_t batches) {
    v1::Eval& eval = *spec.mutable_base()->mutable_eval();
    eval.set_every(every);
    eval.set_tokens(tokens);
    eval.set_batches(batches);
    spec.mutable_base()->mutable_data()->set_val("another set");
    return Plan(Trials(1, spec)).configurations(0).seconds();
  };
  // A step has 256 tokens and takes 2 s.
  EXPECT_NEAR(seconds(0, 2560, 0), 100 + 20.0 / 3, 1e-6) << "after the last step";
  EXPECT_NEAR(seconds(20, 2560, 0), 100 + 3 * 20.0 / 3, 1e-6) << "after 20, 40 and 50";
  EXPECT_NEAR(seconds(0, 0, 10), 100 + 20.0 / 3, 1e-6) << "micro-batches of 256 tokens";
}

TEST_F(PlanningTest, MaxTimeBoundsATrialsTimeAndIsTheEstimateIfNothingElseIsKnown) {
  AddDevice("a", "Cpu", 64 * kGiB);
  v1::ExperimentSpec spec = Small(50);
  spec.mutable_base()->mutable_train()->set_max_time_seconds(60);
  v1::PlanResponse plan = Plan(Trials(3, spec));
  ASSERT_EQ(plan.configurations_size(), 1);
  EXPECT_NEAR(plan.configurations(0).seconds(), 60, 1e-6);
  EXPECT_EQ(plan.configurations(0).estimated_from(), "train.max_time, by which it ends");
  Submit(Small());
  TrainOne("a");
  EXPECT_NEAR(Plan(Trials(3, spec)).slot_seconds(), 180, 1e-6) << "100 s a trial without it";
  EXPECT_NEAR(Plan(Searching("asha", 27, spec)).slot_seconds(), 27 * 60, 1e-6)
      << "the number of steps in 60 s is unknown";
  spec.mutable_base()->mutable_train()->set_max_time_seconds(1000);
  EXPECT_NEAR(Plan(Trials(3, spec)).slot_seconds(), 300, 1e-6);
}

TEST_F(PlanningTest, AnotherModelsTimeFollowsFromItsArithmetic) {
  AddDevice("a", "Cpu", 64 * kGiB);
  Submit(Small());
  TrainOne("a");
  v1::ExperimentSpec deeper = Small();
  deeper.mutable_base()->mutable_model()->set_n_layer(24);
  deeper.add_explicit_paths("model.n_layer");
  const v1::PlannedTrials kind = Plan(deeper).configurations(0);
  EXPECT_GT(kind.seconds(), 1.5 * 200);
  EXPECT_LE(kind.seconds(), 2 * 200);
  EXPECT_NE(kind.estimated_from().find("FLOPs, at the"), std::string::npos)
      << kind.estimated_from();
}

TEST_F(PlanningTest, ForSeveralRanksEveryStrategyIsComparedWithASlotsMemory) {
  AddDevice("a", "Cpu", 7 * kGiB);
  AddDevice("b", "Cpu", 7 * kGiB);
  EXPECT_TRUE(Plan(Small()).configurations(0).strategies().empty())
      << "no other rank to share with";
  v1::ExperimentSpec spec = Small();
  spec.mutable_base()->mutable_resources()->set_gpus(2);
  spec.add_explicit_paths("resources.gpus");
  v1::PlannedTrials kind = Plan(spec).configurations(0);
  EXPECT_EQ(Ways(kind), (std::vector<std::string>{"ddp", "zero1", "zero2", "zero3", "local_sgd",
                                                  "gossip", "ddp tensor 2", "ddp pipeline 2"}))
      << "copies of one rank each are none";
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(kind.strategies(i).strategy(), plan::kSharingWords[i]);
    EXPECT_LT(kind.strategies(i).wire_seconds(), 0) << "no bandwidth was measured";
  }
  EXPECT_EQ(kind.strategies(0).peak_bytes(), kind.memory_bytes());
  EXPECT_EQ(kind.strategies(0).state_bytes(), 16 * kind.parameters());
  EXPECT_EQ(kind.strategies(0).verdict(), "tight") << kind.strategies(0).peak_bytes();
  EXPECT_TRUE(kind.strategies(1).least());
  EXPECT_EQ(kind.advice().substr(0, 5), "zero1") << kind.advice();
  spec.mutable_base()->mutable_train()->set_hash_every(10);
  spec.add_explicit_paths("train.hash_every");
  kind = Plan(spec).configurations(0);
  EXPECT_EQ(Ways(kind), (std::vector<std::string>{"ddp", "zero1", "zero2", "local_sgd",
                                                  "ddp tensor 2", "ddp pipeline 2"}))
      << "zero3 keeps nothing to compare, and gossip mixes it";
  spec.mutable_base()->mutable_train()->set_hash_every(0);
  spec.mutable_base()->mutable_parallel()->set_balance("auto");
  spec.mutable_base()->mutable_train()->set_global_batch_size(8 * spec.base().train().batch_size());
  spec.add_explicit_paths("parallel.balance");
  spec.add_explicit_paths("train.global_batch_size");
  kind = Plan(spec).configurations(0);
  EXPECT_EQ(Ways(kind), (std::vector<std::string>{"ddp", "zero1"}))
      << "zero2 makes ranks wait in every micro-batch";
}

TEST_F(PlanningTest, ForFourRanksCopiesAndCutsHaveRowsWithStageWaits) {
  for (const char* name : {"a", "b", "c", "d"}) AddDevice(name, "Cpu", 64 * kGiB);
  v1::ExperimentSpec spec = Small();
  spec.mutable_base()->mutable_resources()->set_gpus(4);
  spec.add_explicit_paths("resources.gpus");
  v1::PlannedTrials kind = Plan(spec).configurations(0);
  EXPECT_EQ(Ways(kind), (std::vector<std::string>{
                            "ddp", "zero1", "zero2", "zero3", "hsdp of 2", "local_sgd", "gossip",
                            "ddp tensor 2", "ddp tensor 4", "ddp pipeline 2", "ddp pipeline 4"}));
  // Sixteen sequences on one data rank: as many micro-batches, four for each stage.
  const v1::PlannedStrategy& stages = *kind.strategies().rbegin();
  EXPECT_EQ(stages.microbatches(), 16);
  EXPECT_DOUBLE_EQ(stages.bubble_ratio(), 3.0 / 19);
  EXPECT_EQ(kind.strategies(0).bubble_ratio(), 0);

  // A file that cuts the model also sees the plan without a cut, since that may fit.
  spec.mutable_base()->mutable_parallel()->set_pipeline(2);
  spec.mutable_base()->mutable_parallel()->set_microbatches(8);
  spec.add_explicit_paths("parallel.pipeline");
  spec.add_explicit_paths("parallel.microbatches");
  kind = Plan(spec).configurations(0);
  EXPECT_EQ(Ways(kind),
            (std::vector<std::string>{"ddp", "zero1", "zero2", "zero3", "ddp pipeline 2",
                                      "zero1 pipeline 2", "zero2 pipeline 2", "zero3 pipeline 2"}));
  EXPECT_DOUBLE_EQ(kind.strategies(4).bubble_ratio(), 1.0 / 9);
  EXPECT_EQ(kind.advice(),
            "ddp with parallel.pipeline: 1, at the same train.global_batch_size: it fits, and is "
            "the fastest");
}

TEST_F(PlanningTest, IfCommunicationDominatesAStepLocalSgdIsNamed) {
  v1::PlannedTrials kind = PlanAfterSums(4e9, 4e-3);
  EXPECT_EQ(kind.advice(), "ddp: it fits, and is the fastest");
  kind = PlanAfterSums(4e9, 4e3);
  EXPECT_EQ(kind.advice().find("ddp: it fits, and is the fastest; sending takes up to "), 0u)
      << kind.advice();
  EXPECT_NE(kind.advice().find("local_sgd would send every 16 steps"), std::string::npos)
      << kind.advice();
}

TEST_F(PlanningTest, TrafficTakesItsTimeAtTheBandwidthOfGangsOfThatSize) {
  const v1::PlannedTrials kind = PlanAfterSums(1e9, 0.5);
  // Each of two ranks sends half of it twice: 1 GB in half a second.
  const v1::PlannedStrategy& ddp = kind.strategies(0);
  EXPECT_NEAR(ddp.wire_seconds(), static_cast<double>(ddp.wire_bytes()) / 2e9, 1e-6);
  EXPECT_LT(kind.strategies(1).wire_seconds(), 0) << "shards go another way";
}

TEST_F(PlanningTest, OnAKnownGpuWithoutHistoryTheTimeFollowsFromTheDataSheet) {
  TestWorker& worker = AddWorker("g", {.device = "cuda"});
  worker.hello.set_device_name("NVIDIA H100 80GB HBM3");
  worker.hello.set_memory_bytes(80 * kGiB);
  Connect("g");
  v1::ExperimentSpec spec = Small();
  spec.mutable_base()->mutable_resources()->set_device("cuda");
  const v1::PlannedTrials kind = Plan(spec).configurations(0);
  EXPECT_GT(kind.seconds(), 0);
  EXPECT_EQ(kind.estimated_from(), "FLOPs, at 40 % of 989 TFLOP/s");
}

TEST_F(PlanningTest, WaitingTrialsGoFirstUnlessTheirPriorityIsLower) {
  AddDevice("a", "Cpu", 64 * kGiB);
  Submit(Small());
  TrainOne("a");
  const ExperimentId id = Submit(Trials(3, Small()));
  Train({"a"});
  v1::PlanResponse plan = Plan(Small());
  EXPECT_EQ(plan.slots_free(), 0u);
  EXPECT_EQ(plan.waiting_before(), 2u);
  EXPECT_GE(plan.finish_seconds(), 200);
  EXPECT_TRUE(Says(plan, absl::StrCat("trial ", id, "/1 to end"))) << Notes(plan);
  plan = Plan(Urgent(Small()));
  EXPECT_EQ(plan.waiting_before(), 0u);
  EXPECT_TRUE(Says(plan, absl::StrCat("trial ", id,
                                      "/1, of a lower priority, would make room, and "
                                      "may be asked to in 60s")))
      << Notes(plan);
  EXPECT_FALSE(Says(plan, "it may take longer")) << Notes(plan);
  EXPECT_NEAR(plan.finish_seconds(), 60 + 10 + 200, 1) << "left in peace, a save, and its own time";
  Advance(absl::Minutes(2));
  plan = Plan(Urgent(Small()));
  EXPECT_TRUE(Says(plan, "would make room")) << Notes(plan);
  EXPECT_FALSE(Says(plan, "may be asked")) << Notes(plan);
  EXPECT_NEAR(plan.finish_seconds(), 10 + 200, 1);
}

TEST_F(PlanningTest, TrialsThatWaitForOtherWorkersDelayNothing) {
  AddDevice("a", "Cpu", 64 * kGiB);
  AddDevice("b", "Cpu", 64 * kGiB);
  Submit(Small());
  TrainOne("a");
  v1::ExperimentSpec cuda = Trials(5, Small());
  cuda.mutable_base()->mutable_resources()->set_device("cuda");
  Submit(cuda);
  const v1::PlanResponse plan = Plan(Small());
  EXPECT_EQ(plan.waiting_before(), 0u);
  EXPECT_NEAR(plan.finish_seconds(), 200, 1e-6);
  EXPECT_EQ(plan.notes_size(), 2) << Notes(plan);
  EXPECT_TRUE(Says(plan, "the vocabulary")) << Notes(plan);
  EXPECT_TRUE(Says(plan, "would be noticed within: a worker that ends 1s")) << Notes(plan);
}

TEST_F(PlanningTest, IfEverySlotIsBusyItNamesTheTrialItWaitsFor) {
  AddDevice("a", "Cpu", 64 * kGiB);
  AddDevice("b", "Cpu", 64 * kGiB);
  const ExperimentId id = Submit(Trials(2, Small()));
  Train({"a"});
  Train({"b"});
  v1::ExperimentSpec two = Small();
  EXPECT_TRUE(Says(Plan(two), absl::StrCat("no slot is free: it waits for trial ", id,
                                           "/1 to end; when is not known yet")))
      << Notes(Plan(two));
  two.mutable_base()->mutable_resources()->set_gpus(2);
  two.add_explicit_paths("resources.gpus");
  EXPECT_TRUE(Says(Plan(two), absl::StrCat("no slot is free of the 2 that a trial needs: it waits "
                                           "for trials ",
                                           id, "/1, ", id, "/2 to end")))
      << Notes(Plan(two));
  Finish({"a"});
  EXPECT_TRUE(Says(Plan(two), absl::StrCat("1 slot is free of the 2 that a trial needs: it waits "
                                           "for trial ",
                                           id, "/2 to end")))
      << Notes(Plan(two));
  EXPECT_FALSE(Says(Plan(Small()), "waits for")) << "a slot is free";
}

TEST_F(PlanningTest, ProposalsStillToComeWaitLikeTrials) {
  AddDevice("a", "Cpu", 64 * kGiB);
  Submit(Small());
  TrainOne("a");
  const ExperimentId id = Submit(Searching("bayes", 20, Small()));
  TrainOne("a");
  Train({"a"});
  const v1::PlanResponse plan = Plan(Small());
  EXPECT_EQ(plan.waiting_before(), 18u) << "one has finished, one trains, of experiment " << id;
  EXPECT_TRUE(Says(plan, "18 trials wait already")) << Notes(plan);
  EXPECT_EQ(Plan(Urgent(Small())).waiting_before(), 0u);
}

TEST_F(PlanningTest, OnlyTrialsWithTheNeededSlotsAreAskedToMakeRoom) {
  AddDevice("a", "Cpu", 64 * kGiB);
  AddDevice("b", "Cpu", 64 * kGiB);
  v1::Label& here = *workers_.at("b").hello.add_labels();
  here.set_key("zone");
  here.set_value("west");
  Connect("b");
  const ExperimentId id = Submit(Trials(2, Small()));
  Train({"a"});
  Train({"b"});
  Advance(absl::Minutes(2));
  v1::ExperimentSpec west = Urgent(Small());
  v1::Label& label = *west.mutable_base()->mutable_resources()->add_labels();
  label.set_key("zone");
  label.set_value("west");
  const std::string theirs = absl::StrCat("trial ", id, "/", AssignedTo("b")->trial(),
                                          ", of a lower priority, would make room");
  EXPECT_TRUE(Says(Plan(west), theirs)) << Notes(Plan(west));
  v1::ExperimentSpec both = Urgent(Small());
  both.mutable_base()->mutable_resources()->set_gpus(2);
  both.add_explicit_paths("resources.gpus");
  EXPECT_TRUE(Says(Plan(both), "trials ")) << Notes(Plan(both));
  both.mutable_base()->mutable_resources()->set_gpus(3);
  EXPECT_FALSE(Says(Plan(both), "make room")) << "it would not fit all the same";
}

TEST_F(PlanningTest, AshaIsEstimatedWithTheAverageStepsOfTrials) {
  AddDevice("a", "Cpu", 64 * kGiB);
  Submit(Small());
  TrainOne("a");
  v1::ExperimentSpec spec = Searching("asha", 27, Small());
  const v1::PlanResponse plan = Plan(spec);
  // 1/27 + 1/3 (2/27) + 1/9 (6/27) + 1/27 (18/27)
  const double share = 1.0 / 27 * (1 + 2.0 / 3 + 6.0 / 9 + 18.0 / 27);
  EXPECT_NEAR(plan.slot_seconds(), 27 * 200 * share, 1e-6);
}

TEST_F(PlanningTest, FutureProposalsAreRepresentedByDraws) {
  v1::ExperimentSpec spec = Searching("bayes", 200, Small());
  const v1::PlanResponse plan = Plan(spec);
  EXPECT_EQ(plan.trials(), 200u);
  EXPECT_EQ(plan.configurations(0).trials(), 64u);
  EXPECT_NE(plan.notes(0).find("bayes chooses its values as results come"), std::string::npos);
  EXPECT_NE(plan.notes(1).find("reckoned with GPT-2's"), std::string::npos) << plan.notes(1);
}

TEST_F(PlanningTest, APlanIsRefusedForTheSameReasonsAsASubmission) {
  v1::ExperimentSpec spec = Small();
  spec.mutable_base()->mutable_optimizer()->set_lr(-1);
  spec.add_explicit_paths("optimizer.lr");
  const auto plan =
      TryPlan(spec, [this](const PlanAsk& ask) { return Call<v1::PlanResponse>(ask); });
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dt

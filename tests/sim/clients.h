// clients.h: clients that run trials themselves: each asks for a trial, reports values and tells
// its end, while answers are lost, requests arrive again, and clients die and come back.
//
// Role: makes the calls, and checks each answer with the durable records: an acknowledged report is
//       stored once with its values, a counted end is the trial's end, a trial has one client at a
//       time, a client keeps its trial until it has been silent for its lease, and the search stays
//       within its budget. A violation begins with the number of its invariant in ARCHITECTURE.md.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/core/model/durable.h"
#include "dtrain/v1/control.pb.h"
#include "tests/sim/checker.h"
#include "tests/sim/coordinator.h"
#include "tests/sim/options.h"
#include "tests/sim/scheduler.h"

namespace dt::sim {

// Returns the specification of a study: a search whose trials run in clients.
v1::ExperimentSpec StudyOf(Dice& dice);

class Clients {
 public:
  // Borrows all. `faults` may end while clients run.
  Clients(Scheduler& scheduler, const Options& options, const Faults& faults,
          Coordinator& coordinator, Checker& checker);

  void Begin();
  // Adds a study for clients to ask.
  void AddStudy(ExperimentId study) { studies_.insert(study); }
  // Takes a record that is durable. Its answer follows, if it has one.
  void Take(const v1::Record& record);
  // Checks the ends that counted, once everything has ended.
  void AtTheEnd(const DurableState& durable);

  struct Counts {
    size_t reports = 0;  // acknowledged, with values
    size_t ends = 0;     // counted
    size_t losses = 0;   // clients that were silent for too long
  };
  const Counts& counts() const { return counts_; }

 private:
  using Old = std::variant<v1::ReportTrialRequest, v1::TellTrialRequest>;
  struct Client {
    uint64_t index = 0;
    uint64_t asker = 0;
    uint64_t turn = 0;  // answers to earlier requests come too late
    double lease = 0;   // seconds; 0: the usual lease
    ExperimentId study = 0;
    AttemptId attempt;  // of its trial; number 0: it has none
    std::string token;
    uint64_t step = 0;  // of its newest report
    int reports_left = 0;
    std::deque<Old> old;  // the newest requests
  };
  // An attempt at a trial of a study, as its client and as the journal know it.
  struct Given {
    uint64_t asker = 0;
    std::string token;
    absl::Duration lease;
    absl::Duration heard;                               // when the newest call was answered
    std::set<std::pair<uint64_t, std::string>> sent;    // steps and values of reports
    std::set<std::string> results;                      // values of its result
    std::set<v1::Cause> told;                           // ends that its client sent
    std::set<std::pair<uint64_t, std::string>> stored;  // as in the journal
    v1::Cause ended = v1::CAUSE_UNSPECIFIED;            // as in the journal
    bool counted = false;                               // its client knows that its end counted
    bool stopped = false;                               // its client was asked to stop
  };
  using Answered = std::function<void(const Reply&)>;

  void Act(Client& client);
  void Ask(Client& client);
  void Report(Client& client);
  void Tell(Client& client);
  void Die(Client& client);
  void SendOld(Client& client);
  void SendAnothers(const Client& client);
  void Later(Client& client, absl::Duration delay);
  void Pause(Client& client);
  void Rename(Client& client);
  // Sends the request until an answer arrives.
  template <typename Request>
  void Send(Client& client, const Request& request, const Answered& then);
  template <typename Request>
  Request RequestOf(const Client& client) const;
  void AddValues(ExperimentId study, google::protobuf::RepeatedPtrField<v1::Metric>& metrics);
  bool Faulty(double share) { return faults_.clients > 0 && dice_.Chance(faults_.clients * share); }

  void TakeTrial(Client& client, const Reply& reply);
  void TakeStart(const v1::AttemptStarted& fact);
  void TakeValues(const v1::EvaluationRecorded& fact);
  void TakeEnd(const v1::AttemptEnded& fact);
  void Forget(ExperimentId study);
  // Checks that the trial of a client that has been silent for long has ended.
  void CheckSilence();
  // Check the answer.
  void Check(const v1::AskTrialRequest& request, const Reply& reply);
  void Check(const v1::ReportTrialRequest& request, const Reply& reply);
  void Check(const v1::TellTrialRequest& request, const Reply& reply);
  // Returns the attempt that the request names, if the study still exists.
  template <typename Request>
  Given* Named(const Request& request);

  Scheduler& scheduler_;
  const Options& options_;
  const Faults& faults_;
  Coordinator& coordinator_;
  Checker& checker_;
  Dice dice_;  // separate, so that a run without clients does not change
  std::deque<Client> clients_;
  std::set<ExperimentId> studies_;
  std::set<ExperimentId> watching_;    // studies with a constraint on latency_ms
  std::map<uint64_t, double> leases_;  // by asker, in seconds
  std::map<AttemptId, Given> given_;
  std::map<std::string, AttemptId> tokens_;
  std::map<TrialId, AttemptId> open_;                           // attempts that have not ended
  std::map<std::pair<ExperimentId, uint64_t>, AttemptId> has_;  // the open one of each asker
  std::map<ExperimentId, std::pair<size_t, size_t>> budgets_;   // trials, and how many there may be
  Counts counts_;
};

}  // namespace dt::sim

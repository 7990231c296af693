// session.h: one run of dtctl: its surroundings, the options every command shares, the connection,
// and how a command says what it found.
//
// Rules: stdout is for data, stderr for messages. A command returns a Status for what went wrong;
//        app.cc prints it and chooses the exit code.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/remote/client.h"
#include "cli/remote/exit_code.h"
#include "cli/remote/interrupt.h"
#include "cli/view/json.h"
#include "cli/view/table.h"
#include "cli/view/terminal.h"

namespace dt::cli {

enum class Format { kTable, kWide, kJson, kYaml, kCsv, kJsonl, kName };
std::string_view FormatWord(Format format);

// How often waiting commands look. Tests look more often.
struct Pace {
  absl::Duration redraw = absl::Milliseconds(500);  // what a person watches
  absl::Duration poll = absl::Seconds(1);           // what a script waits for
  absl::Duration retry = absl::Milliseconds(300);   // first pause after an unanswered call
};

struct SharedOptions {
  // Why there is none, for the commands that want one.
  absl::StatusOr<ClientOptions> client = ClientOptions();
  Format format = Format::kTable;
  Colour colour = Colour::kOff;
  bool no_input = false;
  bool quiet = false;
};

class Session {
 public:
  Session(const Terminal& terminal, Interrupt& interrupt, Pace pace)
      : terminal_(terminal), interrupt_(interrupt), pace_(pace) {}

  SharedOptions& options() { return options_; }
  const SharedOptions& shared() const { return options_; }
  const Terminal& terminal() const { return terminal_; }
  Interrupt& interrupt() { return interrupt_; }
  // Waits for the time that it is given; false at Ctrl-C, at once.
  std::function<bool(absl::Duration)> Pause() {
    return [this](absl::Duration duration) {
      return interrupt_.Wait(duration) != Interrupt::Woken::kByInterrupt;
    };
  }
  const Pace& pace() const { return pace_; }
  std::ostream& out() { return *terminal_.out; }
  Format format() const { return options_.format; }
  Colour colour() const { return options_.colour; }
  // How wide a table on stdout may be: as the terminal, or 0, no limit, into a file.
  int width() const { return terminal_.out_is_tty ? terminal_.size().columns : 0; }

  // The connection, made at the first use.
  absl::StatusOr<Client*> Connect();

  // What was written where an experiment or trial is meant: "12", "12/3", "last", or an
  // experiment's name, alone or with "/3", which the coordinator is asked for. Errors: NotFound for
  // a name that nothing has; InvalidArgument for one that several have, with their numbers.
  absl::StatusOr<Selector> Choose(const std::string& text);
  // The same for an experiment, or a trial, alone.
  absl::StatusOr<Selector> ChooseExperiment(const std::string& text);
  absl::StatusOr<Selector> ChooseTrial(const std::string& text);

  // A message to the person, on stderr; --quiet drops it.
  void Note(std::string_view text);
  // Nothing is cut: tables were laid out for width(), and a terminal wraps what people wrote.
  void Print(const std::vector<Line>& lines);

  // Text of others that is printed as it is: without control characters where a person looks.
  std::string ForTerminal(const std::string& text) const;

  // Whether everything printed so far was written; flushes. Long outputs ask in between, so that
  // they end where nobody takes them. Errors: DataLoss with the system's reason.
  absl::Status Written();

  // Asks on the terminal. Errors: FailedPrecondition when there is nobody to ask; Aborted when
  // the answer is no; Cancelled at Ctrl-C, at once.
  absl::Status Confirm(std::string_view question);

 private:
  const Terminal& terminal_;
  Interrupt& interrupt_;
  const Pace pace_;
  SharedOptions options_;
  std::unique_ptr<Client> client_;
};

// One kind of thing, listed: the same rows for people, machines and shells.
struct Listing {
  std::string_view kind;  // "TrialList"
  Table table;
  std::vector<Json> items;
  std::vector<std::string> columns;  // of CSV, the same whatever is listed
  std::vector<std::string> names;    // what -o name prints, usable as an argument
  std::string empty;                 // said on stderr when there is nothing
};
inline const std::vector<Format> kListFormats = {Format::kTable, Format::kWide, Format::kJson,
                                                 Format::kYaml,  Format::kCsv,  Format::kName};
void Print(Session& session, const Listing& listing);
// Table lines of a listing, for views that redraw.
std::vector<Line> ListingLines(Session& session, const Listing& listing);

// Errors: InvalidArgument "-k is 0; it must be at least 1".
absl::Status CheckAtLeast(std::string_view option, int64_t value, int64_t least);
// One thing: as `text` for a person, else as json or yaml. REQUIRES: format() is one of these.
inline const std::vector<Format> kDocumentFormats = {Format::kTable, Format::kJson, Format::kYaml};
void PrintDocument(Session& session, std::string_view kind, const Json& fields,
                   const std::string& text = "");

}  // namespace dt::cli

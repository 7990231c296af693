// session.h: a run of dtctl: its terminal, the options of every command, the connection, and ways
// to print results.
//
// Rules: stdout is for data, stderr for messages. A command returns errors as a Status. app.cc
//        prints it and chooses the exit code.
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
#include "cli/view/list_columns.h"
#include "cli/view/table.h"
#include "cli/view/terminal.h"

namespace dt::cli {

enum class Format { kTable, kWide, kJson, kYaml, kCsv, kJsonl, kName };
std::string_view FormatWord(Format format);

// Intervals of waiting commands. Tests use shorter ones.
struct Pace {
  absl::Duration redraw = absl::Milliseconds(500);  // of live views
  absl::Duration poll = absl::Seconds(1);           // of waits in scripts
  absl::Duration retry = absl::Milliseconds(300);   // first pause after an unanswered call
};

struct SharedOptions {
  // Reason that there is no coordinator, for commands that need one.
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
  // Returns a function that waits for a given time. It returns false at once at Ctrl-C.
  std::function<bool(absl::Duration)> Pause() {
    return [this](absl::Duration duration) {
      return interrupt_.Wait(duration) != Interrupt::Woken::kByInterrupt;
    };
  }
  const Pace& pace() const { return pace_; }
  std::ostream& out() { return *terminal_.out; }
  Format format() const { return options_.format; }
  Colour colour() const { return options_.colour; }
  // Returns the maximum width of a table on stdout: that of the terminal, or 0 (no limit) for a
  // file.
  int width() const { return terminal_.out_is_tty ? terminal_.size().columns : 0; }

  // Returns the connection, made at the first use.
  absl::StatusOr<Client*> Connect();

  // Returns the experiment or trial of an argument: "12", "12/3", "last", or an experiment's name,
  // with or without "/3", which the coordinator looks up. Errors: NotFound for an unknown name;
  // InvalidArgument for a name of several experiments, with their numbers.
  absl::StatusOr<Selector> Choose(const std::string& text);
  // Return the same, but accept only an experiment, or only a trial.
  absl::StatusOr<Selector> ChooseExperiment(const std::string& text);
  absl::StatusOr<Selector> ChooseTrial(const std::string& text);

  // Prints a message to the user on stderr, unless --quiet.
  void Note(std::string_view text);
  // Prints lines without cutting them: tables were laid out for width(), and a terminal wraps other
  // text.
  void Print(const std::vector<Line>& lines);

  // Returns untrusted text for printing, on a terminal without control characters.
  std::string ForTerminal(const std::string& text) const;

  // Flushes, and returns whether everything printed so far was written. Long outputs call this in
  // between, so that they end when the reader is gone. Errors: DataLoss with the system's reason.
  absl::Status Written();

  // Asks for confirmation on the terminal. Errors: FailedPrecondition without a terminal; Aborted
  // if the answer is no; Cancelled at once at Ctrl-C.
  absl::Status Confirm(std::string_view question);

 private:
  const Terminal& terminal_;
  Interrupt& interrupt_;
  const Pace pace_;
  SharedOptions options_;
  std::unique_ptr<Client> client_;
};

// A list of one kind, with the same rows for people, machines and shells.
struct Listing {
  std::string_view kind;  // "TrialList"
  Table table;
  std::vector<Json> items;
  std::vector<std::string> columns;  // of CSV, the same for any rows
  std::vector<std::string> names;    // for -o name, usable as arguments
  std::string empty;                 // printed on stderr if there are no rows
};
// Fills the table, JSON and CSV of a listing from columns.
template <typename Item, typename Items>
void FillListing(const ListColumns<Item>& columns, const Items& items, Listing& listing) {
  listing.table = MakeTable(columns, items);
  listing.columns = NamesOf(columns);
  for (const Item& item : items) listing.items.push_back(ItemJson(columns, item));
}
// Fills the table of a listing from columns, and JSON and CSV from the messages. `json` writes one;
// that of an empty message has the names.
template <typename Item, typename Items>
void FillListing(const ListColumns<Item>& columns, Json (*json)(const Item&), const Items& items,
                 Listing& listing) {
  listing.table = MakeTable(columns, items);
  listing.columns = CsvColumns(json(Item()));
  for (const Item& item : items) listing.items.push_back(json(item));
}

inline const std::vector<Format> kListFormats = {Format::kTable, Format::kWide, Format::kJson,
                                                 Format::kYaml,  Format::kCsv,  Format::kName};
void Print(Session& session, const Listing& listing);
// Returns the table of a listing as lines, for views that redraw.
std::vector<Line> ListingLines(Session& session, const Listing& listing);

// Checks a count. Errors: InvalidArgument "-k is 0; it must be at least 1".
absl::Status CheckAtLeast(std::string_view option, int64_t value, int64_t least);
// Prints one object: `text` for a person, else JSON or YAML. REQUIRES: format() is one of these.
inline const std::vector<Format> kDocumentFormats = {Format::kTable, Format::kJson, Format::kYaml};
void PrintDocument(Session& session, std::string_view kind, const Json& fields,
                   const std::string& text = "");

}  // namespace dt::cli

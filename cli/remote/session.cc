#include "cli/remote/session.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/view/words.h"
#include "common/status.h"

namespace dt::cli {

std::string_view FormatWord(Format format) {
  switch (format) {
    case Format::kTable:
      return "table";
    case Format::kWide:
      return "wide";
    case Format::kJson:
      return "json";
    case Format::kYaml:
      return "yaml";
    case Format::kCsv:
      return "csv";
    case Format::kJsonl:
      return "jsonl";
    case Format::kName:
      return "name";
  }
  return "";
}

absl::StatusOr<Client*> Session::Connect() {
  if (client_ == nullptr) {
    DT_RETURN_IF_ERROR(options_.client.status());
    DT_ASSIGN_OR_RETURN(client_, Client::Make(*options_.client, interrupt_));
  }
  return client_.get();
}

absl::StatusOr<Selector> Session::Choose(const std::string& text) {
  absl::StatusOr<Selector> selector = ParseSelector(text);
  if (selector.ok()) return selector;
  // "name/3": a number after the last slash is a trial.
  const size_t slash = text.rfind('/');
  uint32_t trial = 0;
  const bool has_trial =
      slash != std::string::npos && absl::SimpleAtoi(text.substr(slash + 1), &trial);
  const std::string name = has_trial ? text.substr(0, slash) : text;
  // A mistyped number is not searched as a name.
  if (name.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(name.front()))) {
    return selector;
  }
  DT_ASSIGN_OR_RETURN(Client * client, Connect());
  DT_ASSIGN_OR_RETURN(const auto experiments, client->ListExperiments({}));
  std::vector<std::string> found;
  for (const v1::ExperimentSummary& one : experiments) {
    if (one.name() == name) found.push_back(absl::StrCat(one.experiment()));
  }
  if (found.size() == 1) return ParseSelector(absl::StrCat(found[0], text.substr(name.size())));
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("no experiment is named '", Printable(name),
                                            "'; 'dtctl get experiments' lists them"));
  }
  constexpr size_t kShown = 10;
  const size_t count = found.size();
  if (count > kShown) found.erase(found.begin(), found.end() - kShown);
  return absl::InvalidArgumentError(absl::StrCat(
      count, " experiments are named '", Printable(name),
      "'; write the number of one: ", count > kShown ? "..., " : "", absl::StrJoin(found, ", ")));
}

absl::StatusOr<Selector> Session::ChooseExperiment(const std::string& text) {
  DT_ASSIGN_OR_RETURN(const Selector selector, Choose(text));
  if (selector.trial == 0) return selector;
  return absl::InvalidArgumentError(
      absl::StrCat("'", Printable(text), "' is a trial; this command takes an experiment: write '",
                   Printable(text.substr(0, text.rfind('/'))), "'"));
}

absl::StatusOr<Selector> Session::ChooseTrial(const std::string& text) {
  DT_ASSIGN_OR_RETURN(const Selector selector, Choose(text));
  if (selector.trial != 0) return selector;
  return absl::InvalidArgumentError(absl::StrCat("'", Printable(text),
                                                 "' is an experiment; this command takes one of "
                                                 "its trials: write '",
                                                 Printable(text), "/1'"));
}

void Session::Note(std::string_view text) {
  if (!options_.quiet) *terminal_.err << text << std::endl;
}

void Session::Print(const std::vector<Line>& lines) {
  for (const Line& line : lines) {
    for (const Line& piece : WrapLine(line, width())) out() << RenderLine(piece, colour()) << "\n";
  }
  out() << std::flush;
}

std::string Session::ForTerminal(const std::string& text) const {
  return terminal_.out_is_tty ? Printable(text, Newlines::kKeep) : text;
}

absl::Status Session::Written() {
  if (out().flush().good()) return absl::OkStatus();
  const int error = terminal_.out_error();
  return absl::DataLossError(absl::StrCat(
      "stdout cannot be written: ", error != 0 ? std::strerror(error) : "the write failed",
      "; what was printed is incomplete: make room or write elsewhere, and run it again"));
}

absl::Status Session::Confirm(std::string_view question) {
  if (!terminal_.in_is_tty || options_.no_input) {
    return absl::FailedPreconditionError(
        absl::StrCat("not confirmed, and there is no terminal to ask '", std::string(question),
                     "'; add --yes to go on"));
  }
  *terminal_.err << question << " [y/N] " << std::flush;
  // A plain read would continue after Ctrl-C: the library restarts interrupted reads.
  if (terminal_.in_fd >= 0 && interrupt_.Wait(absl::InfiniteDuration(), terminal_.in_fd) ==
                                  Interrupt::Woken::kByInterrupt) {
    *terminal_.err << std::endl;
    return absl::CancelledError("interrupted");
  }
  std::string answer;
  std::getline(*terminal_.in, answer);
  answer = absl::AsciiStrToLower(absl::StripAsciiWhitespace(answer));
  if (answer == "y" || answer == "yes") return absl::OkStatus();
  return absl::AbortedError("not confirmed; nothing was changed");
}

namespace {

TableOptions OptionsOf(const Session& session) {
  return {session.width(), session.format() == Format::kWide ? Shown::kWide : Shown::kAlways};
}

// Prints a note about columns for which a narrow terminal has no room.
void NoteLeftOut(Session& session, const Table& table) {
  const std::vector<std::string> headers = LeftOutOf(table, OptionsOf(session));
  if (headers.empty()) return;
  session.Note(absl::StrCat("Without room here: ", absl::StrJoin(headers, ", "),
                            "; a wider terminal, -o csv and -o json have them."));
}

}  // namespace

std::vector<Line> ListingLines(Session& session, const Listing& listing) {
  return LayOut(listing.table, OptionsOf(session));
}

void Print(Session& session, const Listing& listing) {
  switch (session.format()) {
    case Format::kTable:
    case Format::kWide:
      if (listing.items.empty()) {
        session.Note(listing.empty);
      } else {
        session.Print(ListingLines(session, listing));
        NoteLeftOut(session, listing.table);
      }
      break;
    case Format::kJson:
      session.out() << JsonText(List(listing.kind, listing.items));
      break;
    case Format::kYaml:
      session.out() << YamlText(List(listing.kind, listing.items));
      break;
    case Format::kCsv:
      session.out() << session.ForTerminal(CsvText(listing.columns, listing.items));
      break;
    case Format::kJsonl:
      for (const Json& item : listing.items) session.out() << JsonLine(item);
      break;
    case Format::kName:
      for (const std::string& name : listing.names) {
        session.out() << session.ForTerminal(name) << "\n";
      }
      break;
  }
  session.out() << std::flush;
}

absl::Status CheckAtLeast(std::string_view option, int64_t value, int64_t least) {
  if (value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(option), " is ", value, "; it must be at least ", least));
}

void PrintDocument(Session& session, std::string_view kind, const Json& fields,
                   const std::string& text) {
  const Json document = Document(kind, fields);
  session.out() << (session.format() == Format::kTable  ? text
                    : session.format() == Format::kYaml ? YamlText(document)
                                                        : JsonText(document))
                << std::flush;
}

}  // namespace dt::cli

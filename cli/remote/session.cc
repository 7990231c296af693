#include "cli/remote/session.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
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

void Session::Note(std::string_view text) {
  if (!options_.quiet) *terminal_.err << text << std::endl;
}

void Session::Print(const std::vector<Line>& lines) {
  for (const Line& line : lines) out() << RenderLine(line, colour()) << "\n";
  out() << std::flush;
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
  std::string answer;
  std::getline(*terminal_.in, answer);
  answer = absl::AsciiStrToLower(absl::StripAsciiWhitespace(answer));
  if (answer == "y" || answer == "yes") return absl::OkStatus();
  return absl::AbortedError("not confirmed; nothing was changed");
}

std::vector<Line> ListingLines(Session& session, const Listing& listing) {
  TableOptions options;
  options.width = session.width();
  options.detail = session.format() == Format::kWide ? Shown::kWide : Shown::kAlways;
  return LayOut(listing.table, options);
}

void Print(Session& session, const Listing& listing) {
  switch (session.format()) {
    case Format::kTable:
    case Format::kWide:
      if (listing.items.empty()) {
        session.Note(listing.empty);
      } else {
        session.Print(ListingLines(session, listing));
      }
      break;
    case Format::kJson:
      session.out() << JsonText(List(listing.kind, listing.items));
      break;
    case Format::kYaml:
      session.out() << YamlText(List(listing.kind, listing.items));
      break;
    case Format::kCsv:
      session.out() << CsvText(listing.items);
      break;
    case Format::kJsonl:
      for (const Json& item : listing.items) session.out() << JsonLine(item);
      break;
    case Format::kName:
      for (const std::string& name : listing.names) session.out() << name << "\n";
      break;
  }
  session.out() << std::flush;
}

absl::Status CheckAtLeast(std::string_view option, int64_t value, int64_t least) {
  if (value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(option), " is ", value, "; it must be at least ", least));
}

void PrintDocument(Session& session, std::string_view kind, const Json& fields) {
  const Json document = Document(kind, fields);
  session.out() << (session.format() == Format::kYaml ? YamlText(document) : JsonText(document))
                << std::flush;
}

}  // namespace dt::cli

#include "cli/remote/contexts.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/view/json.h"
#include "cli/view/words.h"
#include "common/file_lock.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/net/token.h"
#include "common/secret_file.h"
#include "common/status.h"
#include "common/unique_fd.h"

namespace dt::cli {
namespace {

constexpr char kDefaultAddress[] = "127.0.0.1:7600";

// A key of a context in the file, and its field.
struct ContextKey {
  const char* name;
  std::string& (*field)(Context&);
};
constexpr ContextKey kKeys[] = {
    {"address", [](Context& one) -> std::string& { return one.address; }},
    {"tls_ca", [](Context& one) -> std::string& { return one.tls.ca; }},
    {"tls_cert", [](Context& one) -> std::string& { return one.tls.cert; }},
    {"tls_key", [](Context& one) -> std::string& { return one.tls.key; }},
    {"token_file", [](Context& one) -> std::string& { return one.token_file; }},
};

absl::Status Refused(const std::string& path, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      Printable(path), ": ", std::string(what),
      "; mend it, or move it away and name coordinators anew with 'dtctl context add'"));
}

// Returns the text of a member, "" for null. Errors: InvalidArgument where it is neither.
absl::StatusOr<std::string> TextOf(const Json& value, std::string_view what,
                                   const std::string& path) {
  if (value.is_null()) return "";
  if (!value.is_string()) return Refused(path, absl::StrCat(std::string(what), " is not a text"));
  return value.get<std::string>();
}

absl::StatusOr<Context> ReadContext(const std::string& name, const Json& json,
                                    const std::string& path) {
  Context context;
  context.name = name;
  if (!CheckContextName(name).ok()) {
    return Refused(path, absl::StrCat("'", Printable(name), "' is not a valid context name"));
  }
  if (!json.is_object()) {
    return Refused(path, absl::StrCat("context '", name, "' is not an object with an address"));
  }
  for (const auto& [word, value] : json.items()) {
    const auto* key =
        std::find_if(std::begin(kKeys), std::end(kKeys),
                     [&word = word](const ContextKey& one) { return word == one.name; });
    if (key == std::end(kKeys)) {
      return Refused(
          path, absl::StrCat("context '", name, "' has the unknown key '", Printable(word), "'"));
    }
    DT_ASSIGN_OR_RETURN(
        key->field(context),
        TextOf(value, absl::StrCat("'", key->name, "' of context '", name, "'"), path));
  }
  if (context.address.empty()) {
    return Refused(path, absl::StrCat("context '", name, "' has no address"));
  }
  return context;
}

absl::StatusOr<Contexts> ReadTree(const Json& tree, const std::string& path) {
  if (!tree.is_object()) return Refused(path, "it is not an object with 'current' and 'contexts'");
  Contexts contexts;
  for (const auto& [word, value] : tree.items()) {
    if (word == "current") {
      DT_ASSIGN_OR_RETURN(contexts.current, TextOf(value, "'current'", path));
    } else if (word == "contexts" && (value.is_object() || value.is_null())) {
      for (const auto& [name, json] : value.items()) {
        DT_ASSIGN_OR_RETURN(const Context context, ReadContext(name, json, path));
        contexts.Put(context);
      }
    } else {
      return Refused(path, word == "contexts"
                               ? "'contexts' is not an object"
                               : absl::StrCat("the unknown key '", Printable(word), "'"));
    }
  }
  return contexts;
}

// Returns maps and texts of YAML as JSON. A map deeper than those of the file becomes null. `left`
// bounds the nodes, since an alias may repeat others; at 0 the rest is left out.
Json FromYaml(const YAML::Node& node, int depth, int& left) {
  if (node.IsScalar()) return node.as<std::string>();
  if (node.IsSequence()) return Json::array();
  if (!node.IsMap() || depth == 0) return nullptr;
  Json json = Json::object();
  for (const auto& entry : node) {
    if (--left < 0) break;
    json[entry.first.as<std::string>()] = FromYaml(entry.second, depth - 1, left);
  }
  return json;
}

// Returns the path of the file that dtctl kept up to 0.2.
std::string OldPath(const std::string& path) {
  return (std::filesystem::path(path).parent_path() / "config.yaml").string();
}

// Returns whether the file is there. Errors: InvalidArgument where that cannot be seen, such as in
// the folder of another user: it may hold contexts.
absl::StatusOr<bool> IsThere(const std::string& path) {
  std::error_code code;
  const bool there = std::filesystem::exists(path, code);
  if (!code) return there;
  return absl::InvalidArgumentError(
      absl::StrCat(Printable(path), " cannot be read: ", code.message(),
                   "; mend that, or name the coordinator with --address"));
}

// Returns the file to write for `path`: people keep such files elsewhere and link to them. Does not
// use canonical(), which fails where the file does not exist yet.
absl::StatusOr<std::string> BehindLinks(const std::string& path) {
  constexpr int kLinks = 40;  // the kernel's limit
  std::filesystem::path file = path;
  std::error_code code;
  for (int i = 0; i <= kLinks; ++i) {
    const std::filesystem::path next = std::filesystem::read_symlink(file, code);
    if (code) return file.string();
    file = file.parent_path() / next;
  }
  return Refused(path, "its links lead to each other");
}

// Writes the contexts of the old file to the new one, unless another dtctl is at it. A failure is
// no error: the next command tries again, and the old file stays.
void WriteConverted(const std::string& path, const Contexts& contexts) {
  const absl::StatusOr<std::string> target = BehindLinks(path);
  if (!target.ok()) return;
  const absl::StatusOr<UniqueFd> lock = LockFile(*target + ".lock");
  std::error_code code;
  if (!lock.ok() || std::filesystem::exists(*target, code)) return;
  WriteSecret(*target, ContextsText(contexts)).IgnoreError();
}

TlsFiles EnvironmentTls(const Variables& environment) {
  return {environment("DTCTL_TLS_CA"), environment("DTCTL_TLS_CERT"), environment("DTCTL_TLS_KEY")};
}

}  // namespace

absl::StatusOr<Context> Contexts::Find(const std::string& name, const std::string& path) const {
  std::vector<std::string> names;
  for (const Context& one : list) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  return absl::NotFoundError(
      absl::StrCat("there is no context '", Printable(name), "' in ", Printable(path), "; ",
                   names.empty() ? "add it with 'dtctl context add'"
                                 : absl::StrCat("choose one of: ", absl::StrJoin(names, ", "))));
}

void Contexts::Put(const Context& context) {
  const auto known = std::find_if(list.begin(), list.end(),
                                  [&](const Context& one) { return one.name == context.name; });
  if (known == list.end()) {
    list.push_back(context);
  } else {
    *known = context;
  }
}

bool Contexts::Remove(const std::string& name) {
  if (current == name) current.clear();
  return std::erase_if(list, [&](const Context& one) { return one.name == name; }) > 0;
}

std::string ContextsPath(const Variables& environment) {
  if (const std::string config = environment("XDG_CONFIG_HOME"); !config.empty()) {
    return config + "/dtrain/contexts.json";
  }
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.config/dtrain/contexts.json";
}

absl::Status CheckContextName(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  });
  if (plain && !name.empty() && name.size() <= limits::kContextNameBytes &&
      absl::ascii_isalnum(static_cast<unsigned char>(name.front()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", Printable(name), "' cannot name a context; use letters, digits, '.', '_' and '-', at ",
      "most ", limits::kContextNameBytes, ", beginning with a letter or a digit"));
}

absl::StatusOr<Contexts> ParseContexts(const std::string& text, const std::string& path) {
  try {
    return ReadTree(Json::parse(text), path);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: …", or
    // "[json.exception.out_of_range.406] number overflow parsing '1e999'".
    const std::string_view said = error.what();
    const size_t place = said.find("line ");
    const size_t bracket = said.find("] ");
    const size_t start = place != std::string_view::npos     ? place
                         : bracket != std::string_view::npos ? bracket + 2
                                                             : 0;
    return Refused(path, Printable(said.substr(start)));
  }
}

absl::StatusOr<Contexts> ParseOldContexts(const std::string& text, const std::string& path) {
  constexpr int kDepth = 3;       // the file, its contexts, the keys of one
  constexpr int kNodes = 10'000;  // more than a file of kContextsFileBytes has without aliases
  try {
    const YAML::Node tree = YAML::Load(text);
    if (tree.IsNull()) return Contexts();
    int left = kNodes;
    const Json json = FromYaml(tree, kDepth, left);
    if (left < 0) return Refused(path, "it has too many entries");
    return ReadTree(json, path);
  } catch (const YAML::Exception& error) {
    return Refused(path, absl::StrCat("line ", error.mark.line + 1, ": ", error.msg));
  }
}

std::string ContextsText(const Contexts& contexts) {
  Json json = Json::object();
  if (!contexts.current.empty()) json["current"] = contexts.current;
  json["contexts"] = Json::object();
  for (Context one : contexts.list) {
    Json& written = json["contexts"][one.name] = Json::object();
    for (const ContextKey& key : kKeys) {
      const std::string& value = key.field(one);
      if (!value.empty()) written[key.name] = value;
    }
  }
  return JsonText(json);
}

absl::StatusOr<Contexts> ReadContexts(const std::string& path) {
  if (path.empty()) return Contexts();
  DT_ASSIGN_OR_RETURN(const bool converted, IsThere(path));
  std::string file = path;
  if (!converted) {
    file = OldPath(path);
    DT_ASSIGN_OR_RETURN(const bool old, IsThere(file));
    if (!old) return Contexts();
  }
  const absl::StatusOr<std::string> text = ReadFile(file, limits::kContextsFileBytes);
  if (!text.ok()) return absl::InvalidArgumentError(text.status().message());
  if (converted) return ParseContexts(*text, path);
  DT_ASSIGN_OR_RETURN(const Contexts contexts, ParseOldContexts(*text, file));
  WriteConverted(path, contexts);
  return contexts;
}

absl::Status ChangeContexts(const std::string& path,
                            const std::function<bool(absl::Duration)>& pause,
                            const std::function<absl::Status(Contexts&)>& change) {
  if (path.empty()) {
    return absl::InvalidArgumentError(
        "there is no place to keep contexts: neither XDG_CONFIG_HOME nor HOME is set");
  }
  DT_ASSIGN_OR_RETURN(const std::string target, BehindLinks(path));
  DT_RETURN_IF_ERROR(MakeFolders(std::filesystem::path(target).parent_path().string()));
  // The lock is beside the file that is written: several links may lead to it.
  DT_ASSIGN_OR_RETURN(const UniqueFd lock, AwaitLock(target + ".lock", "another 'dtctl'",
                                                     limits::kContextsLockPatience, pause));
  DT_ASSIGN_OR_RETURN(Contexts contexts, ReadContexts(path));
  DT_RETURN_IF_ERROR(change(contexts));
  return WriteSecret(target, ContextsText(contexts));
}

absl::StatusOr<ClientOptions> ChooseCoordinator(const CoordinatorFlags& flags,
                                                const Variables& environment) {
  const std::string given =
      flags.address.empty() && flags.context.empty() ? environment("DTCTL_ADDRESS") : flags.address;
  Context context;
  std::string name = flags.context;
  if (name.empty() && given.empty()) name = environment("DTCTL_CONTEXT");
  if (!name.empty() || given.empty()) {
    const std::string path = ContextsPath(environment);
    DT_ASSIGN_OR_RETURN(const Contexts contexts, ReadContexts(path));
    if (name.empty()) name = contexts.current;
    if (!name.empty()) {
      DT_ASSIGN_OR_RETURN(context, contexts.Find(name, path));
    }
  }
  ClientOptions chosen;
  chosen.address = !given.empty()             ? given
                   : !context.address.empty() ? context.address
                                              : kDefaultAddress;
  if (given.empty()) chosen.context = context.name;
  chosen.tls = flags.tls;
  if (chosen.tls.None() && flags.context.empty()) chosen.tls = EnvironmentTls(environment);
  if (chosen.tls.None()) chosen.tls = context.tls;
  std::string flag = "--token-file";
  std::string file = flags.token_file;
  if (file.empty() && flags.context.empty()) {
    flag = "DTRAIN_TOKEN_FILE";
    file = environment(flag);
  }
  if (file.empty()) {
    flag = absl::StrCat("token_file of context '", context.name, "'");
    file = context.token_file;
  }
  if (!file.empty()) {
    DT_ASSIGN_OR_RETURN(chosen.token, ReadTokenFile(flag, file));
  }
  return chosen;
}

}  // namespace dt::cli

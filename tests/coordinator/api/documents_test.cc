// documents_test.cc: docs/reference/api.md has every call with its options, and no others.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/api/api.h"
#include "gtest/gtest.h"

namespace dt {
namespace {

std::string Manual() {
  std::ifstream file(DTRAIN_SOURCE_DIR "/docs/reference/api.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string HeadingOf(const ApiRoute& route) {
  return absl::StrCat(route.http == HttpMethod::kPost ? "POST " : "GET ", route.path);
}

// Returns the section of a call, from its heading to the next.
std::string SectionOf(const std::string& manual, const ApiRoute& route) {
  const size_t begin = manual.find(absl::StrCat("## `", HeadingOf(route), "`\n"));
  if (begin == std::string::npos) return "";
  return manual.substr(begin, manual.find("\n## ", begin) - begin);
}

TEST(ApiDocumentsTest, EachCallHasASectionWithAnExampleAndItsOptions) {
  const std::string manual = Manual();
  ASSERT_FALSE(manual.empty());
  for (const ApiRoute& route : ApiRoutes()) {
    const std::string section = SectionOf(manual, route);
    ASSERT_FALSE(section.empty()) << "docs/reference/api.md has no '## `" << HeadingOf(route)
                                  << "`'";
    EXPECT_TRUE(absl::StrContains(section, "```json")) << route.path << " has no example";
    for (const char* option : route.options) {
      EXPECT_TRUE(absl::StrContains(section, absl::StrCat("`", option, "`")))
          << option << " of " << route.path << " is not documented";
    }
  }
}

TEST(ApiDocumentsTest, EachDocumentedCallIsThere) {
  const std::string manual = Manual();
  std::set<std::string> paths;
  for (const ApiRoute& route : ApiRoutes()) paths.insert(HeadingOf(route));
  const std::regex heading("## `((GET|POST) [^`]*)`");
  for (std::sregex_iterator it(manual.begin(), manual.end(), heading), end; it != end; ++it) {
    EXPECT_EQ(paths.count((*it)[1].str()), 1u) << (*it)[1].str();
  }
}

}  // namespace
}  // namespace dt

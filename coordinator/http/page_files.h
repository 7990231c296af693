// page_files.h: the files of the page, which the build embeds in the program (embed.py).
#pragma once

#include <string_view>
#include <vector>

namespace dt {

struct PageFile {
  std::string_view name;  // "app.js"
  std::string_view text;
};
const std::vector<PageFile>& PageFiles();

}  // namespace dt

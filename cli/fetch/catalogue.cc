// catalogue.cc: see catalogue.h.
#include "cli/fetch/catalogue.h"

#include <utility>

namespace dt::cli {

const std::vector<DataSet>& Catalogue() {
  static const auto* const kSets = new std::vector<DataSet>{
      {.name = "wikitext-2",
       .about = "WikiText-2, word level, by Merity et al. (2016), CC BY-SA 3.0",
       .base = "https://raw.githubusercontent.com/pytorch/examples/main/word_language_model/data/"
               "wikitext-2",
       .files = {{.name = "train.txt",
                  .bytes = 10797148,
                  .sha256 = "74cd11b8ccd28cbdc68b2e442d2b70d5cbc814a362de80d6797f8837fd4a4058",
                  .fingerprinted = Fingerprinted::kSortedLines},
                 {.name = "valid.txt",
                  .bytes = 1121681,
                  .sha256 = "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8"},
                 {.name = "test.txt",
                  .bytes = 1256449,
                  .sha256 = "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0"}}},
      {.name = "gpt2-vocab",
       .about = "GPT-2's byte-level BPE, by OpenAI (2019), modified MIT licence",
       .base = "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main",
       .files = {{.name = "vocab.bpe",
                  .bytes = 456318,
                  .sha256 = "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"},
                 {.name = "encoder.json",
                  .bytes = 1042301,
                  .sha256 = "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"}}}};
  return *kSets;
}

DataSet AtMirror(DataSet set, const std::string& mirror) {
  set.base = mirror + "/" + set.name;
  return set;
}

}  // namespace dt::cli

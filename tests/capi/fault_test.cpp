// The operating system refuses: every call that the library makes of it fails once, and once for good.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/capi/whole_life.h"
#include "tests/support/fault.h"
#include "tests/support/host.h"

namespace {

using namespace tdl::test;
using tdl::os::Site;

struct SiteCase {
  Site site;
  std::string name;
  std::vector<tdl_status> allowed;
};
const std::vector<SiteCase> kSites = {
    {Site::map_pages, "map_pages", {TDL_E_OUT_OF_MEMORY}},
    {Site::open_file, "open_file", {TDL_E_IO}},
    {Site::stat_file, "stat_file", {TDL_E_IO}},
    {Site::read_file, "read_file", {TDL_E_IO}},
    {Site::start_thread, "start_thread", {TDL_E_OUT_OF_MEMORY}},
};

bool contains(const std::vector<tdl_status>& statuses, tdl_status status) { return std::find(statuses.begin(), statuses.end(), status) != statuses.end(); }

}  // namespace

TEST_CASE("every refusal of the operating system is a clean status, and the same call works afterwards") {
  const std::string directory = golden_path("qwen3") + "/model";
  for (const int32_t graph_mode : {TDL_GRAPHS_AT_CREATE, TDL_GRAPHS_ON_DEMAND}) {
    const LifePlan plan{&directory, graph_mode};
    const Life good = live(plan);
    REQUIRE(good.failures == 0);
    for (const SiteCase& one : kSites) {
      CAPTURE(one.name);
      int32_t failed = 0;
      for (int32_t countdown = 0;; ++countdown) {
        CAPTURE(countdown);
        const Fault fault(one.site, countdown);
        const Life life = live(plan);
        CAPTURE(std::string(life.where));
        CHECK_MESSAGE(life.stuck == nullptr, std::string(life.stuck ? life.stuck : ""));
        CHECK(life.consistent);
        CHECK(life.bits == good.bits);
        if (fault.hits() == 0) break;
        ++failed;
        CHECK(life.failures == 1);
        CHECK_MESSAGE(contains(one.allowed, life.failure), std::string(tdl_status_name(life.failure)));
      }
      CHECK(failed > 0);  // the site is in use
    }
  }
}

TEST_CASE("when the operating system goes on refusing, creating fails and leaves nothing behind") {
  const std::string directory = golden_path("qwen3") + "/model";
  const LifePlan plan{&directory};
  const Life good = live(plan);
  for (const SiteCase& one : kSites) {
    CAPTURE(one.name);
    for (int32_t countdown = 0;; ++countdown) {
      CAPTURE(countdown);
      const Fault fault(one.site, countdown, true);
      const Life life = live(plan);
      CHECK(life.consistent);
      if (fault.hits() == 0) break;
      CHECK(life.stuck != nullptr);
      CHECK(contains(one.allowed, life.failure));
    }
    CHECK(live(plan).bits == good.bits);
  }
}

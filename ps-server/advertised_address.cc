#include "ps-server/advertised_address.h"

#include "ps-server/service/listen_probe.h"

namespace paceline::ps {

StatusOr<std::string> AdvertisedAddress(const Options& options, const std::string& listening) {
  if (!options.advertise.empty()) {
    if (!options.advertise.ends_with(":0")) return options.advertise;
    const size_t colon = listening.rfind(':');
    return WithPort(options.advertise, std::stoi(listening.substr(colon + 1)));
  }
  for (const std::string everywhere : {"0.0.0.0:", "[::]:", "0:"}) {
    if (!listening.starts_with(everywhere)) continue;
    return InvalidArgument("--listen {} cannot be dialled: --advertise has to say what can",
                           options.listen);
  }
  return listening;
}

}  // namespace paceline::ps

// Defines RaiseDescriptorLimit.
#pragma once

namespace paceline::process {

// Lets this process have as many descriptors as it may: container runtimes and shells often start
// it with 1,024, while a coordinator has a connection of each worker. Programs that use select()
// must not.
void RaiseDescriptorLimit();

}  // namespace paceline::process

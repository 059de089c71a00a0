#pragma once
#include <rs/torch.h>

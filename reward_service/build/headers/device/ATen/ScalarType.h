#pragma once
#include <rs/scalar_type.h>

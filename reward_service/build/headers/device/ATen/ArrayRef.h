#pragma once
#include <rs/array_ref.h>

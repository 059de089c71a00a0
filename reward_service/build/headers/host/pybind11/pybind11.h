// Empty: the precompiled header has what this stands for, as far as it is known.
#pragma once

// Tells the CUDA runtime, when the module is loaded, which kernel stands behind each stub and which
// device variable behind each host variable. The tables are fat.s, which kernels.py writes.
// Compiled once per toolchain; it needs no header.

#define RS_HIDDEN __attribute__((visibility("hidden")))

extern "C" {
struct rs_kernel { const void* stub; const char* name; };
struct rs_variable { const void* shadow; const char* name; unsigned long size, constant; };
struct rs_image { const void* wrapper; const rs_kernel* kernels; const rs_variable* variables; };

// Each table ends with a row whose first member is null.
extern const rs_image rs_images[] RS_HIDDEN;
// A place for the runtime's handle of each image.
extern void** rs_handles[] RS_HIDDEN;

void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* stub, char* device_name, const char* name,
                            int limit, void*, void*, void*, void*, int*);
void __cudaRegisterVar(void** handle, char* shadow, char* device_name, const char* name,
                       int external, unsigned long size, int constant, int global);
}

// Ahead of the candidate's own static initialisers, which may already copy to a symbol.
__attribute__((constructor(101))) static void rs_register() {
  for (int i = 0; rs_images[i].wrapper; ++i) {
    const rs_image& image = rs_images[i];
    void** handle = __cudaRegisterFatBinary(const_cast<void*>(image.wrapper));
    for (const rs_kernel* k = image.kernels; k->stub; ++k)
      __cudaRegisterFunction(handle, static_cast<const char*>(k->stub), const_cast<char*>(k->name),
                             k->name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    for (const rs_variable* v = image.variables; v->shadow; ++v)
      __cudaRegisterVar(handle, static_cast<char*>(const_cast<void*>(v->shadow)),
                        const_cast<char*>(v->name), v->name, 0, v->size,
                        static_cast<int>(v->constant), 0);
    __cudaRegisterFatBinaryEnd(handle);
    rs_handles[i] = handle;
  }
}

__attribute__((destructor(101))) static void rs_unregister() {
  for (int i = 0; rs_images[i].wrapper; ++i)
    __cudaUnregisterFatBinary(rs_handles[i]);
}

// Node's HTTP module for modules that use it at run time. An `import` of `node:http` reads all of its exports, and with `WebSocket` the
// whole web client behind `fetch` is loaded into the process.

/** `node:http` as `require` gives it: nothing is loaded before it is used. */
export const http = process.getBuiltinModule('node:http')

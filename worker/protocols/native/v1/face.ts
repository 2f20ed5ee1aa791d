// The provider face of the native upstream's v1 contract: what the rest of the worker uses.

export { createNativeV1Reader } from './reader.ts'
export { writeNativeV1Request } from './request.ts'

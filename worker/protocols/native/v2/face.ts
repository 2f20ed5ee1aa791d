// The provider face of the native upstream's v2 contract: what the rest of the worker uses.

export { createNativeV2Reader } from './reader.ts'
export { writeNativeV2Request } from './request.ts'

// The signature of a thinking block that its provider did not sign.

/** Opaque to clients, as every signature is. A later request may return the block with it: then the block has no real signature. */
export const GATEWAY_SIGNATURE = 'Z2F0ZXdheQ=='

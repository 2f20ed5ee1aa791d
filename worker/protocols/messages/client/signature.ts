// The signature of a thinking block whose provider signs nothing.

/** Opaque to clients, as every signature is. A block that comes back with it was never signed. */
export const GATEWAY_SIGNATURE = 'Z2F0ZXdheQ=='

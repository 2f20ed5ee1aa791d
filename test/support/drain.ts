// Brings a started gateway into the state in which it still listens but refuses new model requests.

import { get } from './client.ts'
import { waitUntil } from './processes.ts'
import type { ServingGateway } from './serving-gateway.ts'

/** The setting that keeps a gateway in that state for the whole test; the teardown ends it at once. */
export const LONG_GRACE = { GATEWAY_SHUTDOWN_READINESS_GRACE_SECONDS: '60' }

/** Interrupts it and resolves when readiness names the shutdown. It must have been started with `LONG_GRACE`. */
export async function startDraining(gateway: ServingGateway): Promise<void> {
  // The teardown sends SIGTERM. A second SIGTERM within half a second would not count, and the gateway would drain until its deadline.
  gateway.interrupt()
  await waitUntil(async () => {
    const { status, json } = await get(`${gateway.url}/ready`)
    return status === 503 && json.reasons[0].reason_id === 'gateway_shutting_down'
  }, 'readiness turns false for the right reason')
}

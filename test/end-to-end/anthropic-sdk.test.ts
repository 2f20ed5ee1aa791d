// The official `@anthropic-ai/sdk` package with a started gateway, as an application uses it.

import t from 'tap'
import { emulatorVariables, startEmulator, startGateway } from '../support/in-process-gateway.ts'
import { testAnthropic } from './official-sdks/anthropic.ts'
import { nativePlace } from './official-sdks/place.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, {
  env: { ...emulatorVariables(emulator), UPSTREAM_TIMEOUT: '5' }
})

for (const version of ['v1', 'v2'] as const) testAnthropic(nativePlace(gateway, emulator, version))

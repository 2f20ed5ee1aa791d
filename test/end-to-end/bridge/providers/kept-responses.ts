// A provider of the Responses wire whose state the gateway keeps (memory.md 3).

import type { Emulator } from '../../../../ops/emulator/server.ts'
import { responsesBaseUrl, writeChatProfile } from '../../../support/profile-gateway.ts'

export const KEPT_ALIAS = 'kept/large'

export function writeKeptProfile(emulator: Emulator): object {
  return writeChatProfile({
    id: 'responses-kept',
    baseUrl: responsesBaseUrl(emulator, 'kept'),
    aliases: [{ alias: KEPT_ALIAS }],
    more: { wire: 'responses', state: 'gateway' }
  })
}

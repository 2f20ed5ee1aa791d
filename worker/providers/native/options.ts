// The settings that the faces of the native upstream need, as plain data.

import type { Settings } from '../../../shared/settings.ts'
import type { NativeOptions } from '../../protocols/native/options.ts'
import { resolveEndpoints } from './endpoints.ts'

/**
 * Reads the options of a native profile.
 * @param baseUrl the profile's API base; `UPSTREAM_BASE_URL` unless given.
 */
export function readNativeOptions(settings: Settings, baseUrl: string = settings.upstream.baseUrl): NativeOptions {
  const { upstream } = settings
  const { v1Base, v2Base } = resolveEndpoints(baseUrl, upstream.authUrl)
  return {
    v1Base,
    v2Base,
    isImageInputEnabled: settings.enableImages,
    jsonObjectMode: settings.jsonObjectMode,
    parallelToolCalls: settings.parallelToolCalls,
    ...(settings.defaultMaxTokens === undefined ? {} : { defaultMaxTokens: settings.defaultMaxTokens }),
    ...(upstream.profanityCheck === undefined ? {} : { profanityCheck: upstream.profanityCheck }),
    ...(upstream.flags === undefined ? {} : { flags: [...upstream.flags] }),
    attachmentLimits: {
      audioBytesMax: settings.maxAudioFileSizeBytes,
      imageBytesMax: settings.maxImageFileSizeBytes,
      textBytesMax: settings.maxTextFileSizeBytes,
      audioAndImageBytesMax: settings.maxAudioImageTotalSizeBytes
    }
  }
}

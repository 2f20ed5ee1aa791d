import t from 'tap'
import { parseSettings } from '../../../../shared/settings.ts'
import { readNativeOptions } from '../../../../worker/providers/native/options.ts'

t.test('the settings that the native faces need are plain data', async t => {
  const settings = parseSettings({
    UPSTREAM_BASE_URL: 'https://upstream.example/api/v2',
    UPSTREAM_PROFANITY_CHECK: 'false',
    UPSTREAM_FLAGS: '["a"]',
    GATEWAY_ENABLE_IMAGES: 'false',
    GATEWAY_JSON_OBJECT_MODE: 'any_object',
    GATEWAY_PARALLEL_TOOL_CALLS: 'explicit',
    GATEWAY_DEFAULT_MAX_TOKENS: '7',
    GATEWAY_MAX_AUDIO_FILE_SIZE_BYTES: '1',
    GATEWAY_MAX_IMAGE_FILE_SIZE_BYTES: '2',
    GATEWAY_MAX_TEXT_FILE_SIZE_BYTES: '3',
    GATEWAY_MAX_AUDIO_IMAGE_TOTAL_SIZE_BYTES: '4'
  })
  const options = readNativeOptions(settings)
  t.same(options, {
    v1Base: '/api/v1',
    v2Base: '/api/v2',
    isImageInputEnabled: false,
    jsonObjectMode: 'any_object',
    parallelToolCalls: 'explicit',
    defaultMaxTokens: 7,
    profanityCheck: false,
    flags: ['a'],
    attachmentLimits: { audioBytesMax: 1, imageBytesMax: 2, textBytesMax: 3, audioAndImageBytesMax: 4 }
  })
  t.same(structuredClone(options), options)
  t.match(readNativeOptions(settings, 'https://other.example/base'), { v1Base: '/base', v2Base: '/base' })
})

t.test('what is unset is absent', async t => {
  const options = readNativeOptions(parseSettings({}))
  for (const name of ['defaultMaxTokens', 'profanityCheck', 'flags']) t.notOk(name in options, name)
})

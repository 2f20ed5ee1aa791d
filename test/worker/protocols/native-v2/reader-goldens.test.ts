import { createNativeV2Reader } from '../../../../worker/protocols/native-v2/provider.ts'
import { testGoldens } from '../native/goldens.ts'

testGoldens('native-v2', createNativeV2Reader, { 'calls-buffered': { reading: { buffersToolCalls: true } } })

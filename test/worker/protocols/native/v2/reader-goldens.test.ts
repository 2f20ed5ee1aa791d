import { nativeV2Face } from '../../../../../worker/protocols/native/v2/face.ts'
import { testGoldens } from '../goldens.ts'

testGoldens('native-v2', nativeV2Face, { 'calls-buffered': { reading: { buffersToolCalls: true } } })

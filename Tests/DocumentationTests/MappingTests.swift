// The chapters for teams that come from other products leave no word out, theirs or ours.

import CallModel
import CallWire
import Testing

@Suite struct MappingTests {
    @Test func everyWordOfOursHasARow() throws {
        let page = try Page("CallCore", "Mapping")
        #expect(try page.names(under: "Operations") == OperationName.allCases.map(\.rawValue))
        #expect(try page.names(under: "Events") == EventName.allCases.map(\.rawValue))
        #expect(
            try page.names(under: "States of a participant")
                == Participant.State.allCases.map(\.rawValue))
        #expect(try page.names(under: "How a call ends") == EndReason.allCases.map(\.rawValue))
        #expect(try page.names(under: "Errors") == Refusal.Code.allCases.map(\.rawValue))
    }

    @Test func everyModeIsSomebodys() throws {
        let rows = try Page("CallCore", "Mapping").section("Overview").filter { $0.hasPrefix("|") }
        for mode in Mode.all {
            #expect(rows.contains { $0.contains("| `\(mode.name)` |") }, "\(mode.name)")
        }
    }

    @Test(arguments: Chapter.all)
    func everyWordOfTheirsIsThere(_ chapter: Chapter) throws {
        let text = try Page("CallCore", chapter.name).text
        for word in chapter.words { #expect(text.contains(word), "\(chapter.name): \(word)") }
    }

    @Test(arguments: Chapter.all)
    func everyWordItMapsToIsOneOfOurs(_ chapter: Chapter) throws {
        let known = Set(OperationName.allCases.map(\.rawValue) + EventName.allCases.map(\.rawValue))
        let text = try Page("CallCore", chapter.name).text
        for part in text.split(separator: "`") {
            guard part.hasPrefix("call.") || part.hasPrefix("device."),
                part.allSatisfy({ $0.isLowercase || $0 == "." || $0 == "_" })
            else { continue }
            #expect(known.contains(String(part)), "\(chapter.name): \(part)")
        }
    }
}

/// A chapter with the words of its product: operations, events, states, reasons, errors.
struct Chapter: Sendable, CustomTestStringConvertible {
    let name: String
    let words: [String]

    var testDescription: String { name }

    init(_ name: String, _ words: String) {
        self.name = name
        self.words = words.split { $0.isWhitespace }.map(String.init)
    }

    static let all = [
        Chapter(
            "MappingZIM",
            """
            callInvite callCancel callAccept callReject callingInvite callJoin callQuit callEnd
            queryCallInvitationList CallInvite CallAccept CallReject
            callInvitationCreated callInvitationReceived callUserStateChanged
            callInvitationTimeout callInvitationCancelled callInvitationEnded
            InviteesAnsweredTimeout KickedOut General Advanced Started
            Inviting Accepted Rejected Cancelled Offline Received Timeout Quit Ended
            NotYetReceived BeCancelled Unknown errorUserList errorInvitees extendedData
            enableNotReceivedCheck pushConfig nextFlag operatedUserID
            6000001 6000004 6000005 6000009 6000011 6000121 6000270 6000271 6000272 6000273
            6000274 6000275 6000276 6000281 6000283 6000284 6000286 660000002 660300005
            660500002 660900003 660900004 660900005 660900006 660900007 660900008
            call_create call_invite call_accept call_reject call_cancel caller_cancel
            timeout_cancel call_timeout
            """),
        Chapter(
            "MappingDemo",
            """
            sendUserRequest addUserToRequest cancelUserRequest acceptUserRequest
            refuseUserRequest endUserRequest quitUserRequest joinUserRequest
            onInComingUserRequestReceived onInComingUserRequestTimeout
            onUserRequestStateChanged onUserRequestEnded onInComingCallInvitationReceived
            onInComingCallInvitationTimeout onOutgoingCallInvitationAccepted onCallUserQuit
            onCallUserUpdate onCallStart onCallEnd requestID callID wating decline
            """),
        Chapter(
            "MappingCometChat",
            """
            initiateCall acceptCall rejectCall(rejected) rejectCall(busy) rejectCall(cancelled)
            rejectCall(unanswered) endCall clearActiveCall getActiveCall generateToken
            startSession endSession onIncomingCallReceived onOutgoingCallAccepted
            onOutgoingCallRejected onIncomingCallCanceled onCallEndedMessageReceived
            onUserJoined onUserLeft onCallEnded onSessionTimeout onCallEndButtonPressed
            initiated ongoing rejected busy cancelled canceled unanswered missed ended
            sessionID callType callStatus callInitiator callReceiver receiverType initiatedAt
            joinedAt ERR_CALLING_SELF ERR_CALL_BUSY_SELF ERR_CALL_BUSY_USER
            ERR_CALL_BUSY_GROUP ERR_EMPTY_CALL_SESSION_ID ERR_CALL_EMPTY_JOINED_AT
            ERR_CALL_SESSION_NOT_FOUND ERR_CALL_TERMINATED ERR_CALL_USER_ALREADY_JOINED
            ERR_CALL_GROUP_ALREADY_JOINED ERR_CALL_GROUP_ALREADY_LEFT ERR_CALL_INVALID_INIT
            ERR_CALL_ONGOING_TO_INVALID ERR_CALL_NOT_STARTED ERR_CALL_GROUP_INVALID_STATUS
            ERR_CALL_NOT_A_PART AUTH_ERR_ call_initiated call_started call_participant_joined
            call_participant_left call_ended call_busy call_rejected call_cancelled
            call_unanswered peerCall
            """),
        Chapter(
            "MappingSendbird",
            """
            dial accept end muteMicrophone unmuteMicrophone startVideo stopVideo hold unhold
            updateCustomItems deleteCustomItems deleteAllCustomItems getOngoingCalls
            getIncomingCalls retrieveMissedDirectCalls registerPushToken unregisterPushToken
            didStartRinging didEnterRinging didCalleeReceiveDial didEstablish didConnect
            didStartReconnecting didReconnect didRemoteAudioSettingsChange
            didRemoteVideoSettingsChange didUserHoldStatusChange didUpdateCustomItems
            didDeleteCustomItems didEnd didReceiveVoIPException didAudioDeviceChange
            completed canceled declined otherDeviceAccepted timedOut connectionLost noAnswer
            dialFailed acceptFailed unknown notConnected none idle dialing ringing accepting
            established connected reconnecting callId endResult endedBy startedAt endedAt
            duration customItems ringingSource 1800100 1800101 1400104 1800200 1800205 1800206
            1800207 1800208 1400999 1800300 1800301 400100 400111 1800302 1800303 1400101
            1400102 400200 1400103 1400106 1400105 401120 401121 1800632 1800801 1800802
            1800803 direct_call:dial direct_call:accept direct_call:end
            """),
        Chapter(
            "MappingAgora",
            """
            createLocalInvitation sendLocalInvitation cancelLocalInvitation
            acceptRemoteInvitation refuseRemoteInvitation remoteInvitationReceived
            localInvitationReceivedByPeer localInvitationAccepted remoteInvitationAccepted
            localInvitationRefused remoteInvitationRefused localInvitationCanceled
            remoteInvitationCanceled localInvitationFailure remoteInvitationFailure
            Idle SentToRemote ReceivedByRemote AcceptedByRemote RefusedByRemote Canceled
            Failure InvitationReceived AcceptSentToLocal Refused Accepted
            calleeId callerId content response channelId RemoteOffline RemoteNoResponse Expire
            NotLoggedIn LocalOffline AcceptFailure Ok InvalidArgument NotStarted AlreadyEnd
            AlreadyAccept AlreadySent
            """),
    ]
}
